/** Sorts rows by a column: the values are sorted once, and then rows are placed by the ranks of their values. */
import { inTurns, selectFirst, waitForTurn } from '../core/turns.ts'
import type { SortField } from '../query/order.ts'
import { compareSortValues, type SortValue } from '../query/value.ts'

/** The place of each value of a column among the sorted different values; equal sort values have one rank. */
export interface Ranks {
  readonly ranks: Uint32Array
  readonly count: number
}

/** Works in turns of the event loop. */
export async function rankValues(values: readonly unknown[], toSortValue: SortField['toSortValue']): Promise<Ranks> {
  let at = 0
  const toRanked = (value: unknown): Ranked => ({ by: toSortValue(value), at: at++ })
  const { first: sorted } = await selectFirst(values, toRanked, compareRanked, values.length)
  const ranks = new Uint32Array(values.length)
  let count = 0
  let previous: Ranked | undefined
  for await (const part of inTurns(sorted)) {
    for (const one of part) {
      if (previous !== undefined && compareRanked(previous, one) !== 0) count += 1
      ranks[one.at] = count
      previous = one
    }
  }
  return { ranks, count: count + 1 }
}

interface Ranked {
  readonly by: SortValue
  readonly at: number
}

const compareRanked = (a: Ranked, b: Ranked): number => compareSortValues(a.by, b.by)

/**
 * Returns the rows of `order` by the ranks of their values, with equal ones in the same order: a counting sort. Ranks
 * descend if `sign` is -1. Works in turns of the event loop.
 */
export async function sortByRank(
  order: Uint32Array,
  codes: Uint32Array,
  { ranks, count }: Ranks,
  sign: 1 | -1,
): Promise<Uint32Array> {
  const starts = new Uint32Array(count + 1)
  const placeOf = (row: number): number => {
    const rank = ranks[codes[row] ?? 0] ?? 0
    return sign > 0 ? rank : count - 1 - rank
  }
  await waitForTurn()
  for (const row of order) {
    const next = placeOf(row) + 1
    starts[next] = (starts[next] ?? 0) + 1
  }
  await waitForTurn()
  for (let place = 1; place <= count; place += 1) starts[place] = (starts[place] ?? 0) + (starts[place - 1] ?? 0)
  const sorted = new Uint32Array(order.length)
  await waitForTurn()
  for (const row of order) {
    const place = placeOf(row)
    const at = starts[place] ?? 0
    sorted[at] = row
    starts[place] = at + 1
  }
  return sorted
}
