/** Work over long lists in turns: requests are answered between them. */
import { setImmediate as turn } from 'node:timers/promises'

/** What is done without a pause: some milliseconds. */
const SOME = 4096

/** Those that are wanted, in order; equal ones keep theirs. */
export async function pickAndSort<T>(
  all: readonly T[],
  wanted: (one: T) => boolean,
  compare: (a: T, b: T) => number,
): Promise<readonly T[]> {
  let runs: T[][] = []
  for (let at = 0; at < all.length; at += SOME) {
    runs.push(
      all
        .slice(at, at + SOME)
        .filter(wanted)
        .sort(compare),
    )
    await turn()
  }
  while (runs.length > 1) {
    const longer: T[][] = []
    for (let at = 0; at < runs.length; at += 2) longer.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare))
    runs = longer
  }
  return runs[0] ?? []
}

async function merge<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): Promise<T[]> {
  const merged: T[] = []
  let [l, r] = [0, 0]
  while (l < left.length || r < right.length) {
    const [a, b] = [left[l], right[r]]
    if (b === undefined || (a !== undefined && compare(a, b) <= 0)) {
      if (a !== undefined) merged.push(a)
      l += 1
    } else {
      merged.push(b)
      r += 1
    }
    if (merged.length % SOME === 0) await turn()
  }
  return merged
}
