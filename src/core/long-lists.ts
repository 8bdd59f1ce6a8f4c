/** Long lists, read and sorted in turns of the event loop. */
import { waitForTurn } from './turns.ts'

/** Items between two looks at the clock: some hundred microseconds. */
const ITEMS_PER_PART = 128
/** Items that are sorted at once, in about a millisecond. */
const ITEMS_PER_RUN = 512
/** Sorted items to collect before they are merged, in multiples of `count`. */
const COLLECTED_PER_COUNT = 2
const MIN_COLLECTED = 4096

type Compare<T> = (a: T, b: T) => number

interface Selection<T> {
  /** The first items in their order, at most `count`. */
  readonly first: readonly T[]
  readonly total: number
}

/** Yields the items in parts, as many in each turn of the event loop as it has time for. */
export async function* inTurns<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  for (let at = 0; at < items.length; at += ITEMS_PER_PART) {
    const turn = waitForTurn()
    if (turn !== undefined) await turn
    yield items.slice(at, at + ITEMS_PER_PART)
  }
}

/**
 * Returns the first `count` of all values that `pick` returns for the items, in the order of `compare`, and the number of
 * all. `pick` returns undefined for an item to leave out. Equal values keep the order of their items. Only the values
 * that may be among the first ones are sorted. `before`: the first values of earlier items, in their order; `total` is
 * without them.
 */
export async function selectFirst<Item, T>(
  items: readonly Item[],
  pick: (item: Item) => T | undefined,
  compare: Compare<T>,
  count: number,
  before: readonly T[] = [],
): Promise<Selection<T>> {
  const maxCollected = Math.max(COLLECTED_PER_COUNT * count, MIN_COLLECTED)
  let runs: T[][] = [[...before]]
  let collected = before.length
  let total = 0
  /** Once `count` values are sorted: the last of them. */
  let last = before.length === count ? before.at(-1) : undefined
  let run: T[] = []
  for await (const part of inTurns(items)) {
    for (const item of part) {
      const value = pick(item)
      if (value === undefined) continue
      total += 1
      if (last === undefined || compare(value, last) < 0) run.push(value)
    }
    if (run.length < ITEMS_PER_RUN) continue
    runs.push(run.sort(compare))
    collected += run.length
    run = []
    if (collected > maxCollected) {
      const first = await mergeRuns(runs, compare, count)
      runs = [first]
      collected = first.length
      last = first.length === count ? first.at(-1) : undefined
    }
  }
  return { first: await mergeRuns([...runs, run.sort(compare)], compare, count), total }
}

/** Merges sorted runs; values of earlier runs come first among equal ones. */
async function mergeRuns<T>(sorted: readonly T[][], compare: Compare<T>, count: number): Promise<T[]> {
  let runs = sorted
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await merge(runs[at] ?? [], runs[at + 1] ?? [], compare, count))
    }
    runs = merged
  }
  const first = runs[0] ?? []
  return first.length > count ? first.slice(0, count) : first
}

async function merge<T>(left: readonly T[], right: readonly T[], compare: Compare<T>, count: number): Promise<T[]> {
  const merged: T[] = []
  const end = Math.min(count, left.length + right.length)
  let [l, r] = [0, 0]
  while (merged.length < end) {
    const [a, b] = [left[l], right[r]]
    if (b === undefined || (a !== undefined && compare(a, b) <= 0)) {
      merged.push(a as T)
      l += 1
    } else {
      merged.push(b)
      r += 1
    }
    if (merged.length % ITEMS_PER_PART === 0) {
      const turn = waitForTurn()
      if (turn !== undefined) await turn
    }
  }
  return merged
}
