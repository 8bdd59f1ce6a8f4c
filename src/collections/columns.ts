/**
 * Filters and sorts the rows of a table by its columns. Each different value of a column is tested once, or ranked
 * once, and then rows are placed by the ranks of their values.
 */

import { inTurns, selectFirst } from '../core/long-lists.ts'
import { waitForTurn } from '../core/turns.ts'
import { Numbers } from '../core/values.ts'
import { compareSortValues, type SortField, type SortValue } from './order.ts'
import type { Predicate } from './predicate.ts'
import type { Element } from './value.ts'

interface MatchedTable {
  readonly length: number
  /** Elements, of tables whose predicates read them. */
  readonly elements: readonly Element[]
  columnOf(field: string): Column
}

type Combination = Extract<Predicate, { kind: 'every' | 'some' }>

/** Returns 1 for each row that matches, else 0. Works in turns of the event loop. */
export async function matchesOf(predicate: Predicate, table: MatchedTable): Promise<Uint8Array> {
  switch (predicate.kind) {
    case 'field': {
      const { values, codes } = table.columnOf(predicate.field)
      const holds = await testEach(values, predicate.holds)
      await waitForTurn()
      const matches = new Uint8Array(table.length)
      for (let row = 0; row < matches.length; row += 1) matches[row] = holds[codes[row] ?? 0] ?? 0
      return matches
    }
    case 'element':
      return testEach(table.elements, predicate.holds)
    case 'not': {
      const matches = await matchesOf(predicate.of, table)
      for (let row = 0; row < matches.length; row += 1) matches[row] = 1 - (matches[row] ?? 0)
      return matches
    }
    case 'every':
    case 'some':
      return combine(predicate, table)
  }
}

async function testEach<Value>(values: readonly Value[], holds: (value: Value) => boolean): Promise<Uint8Array> {
  const outcome = new Uint8Array(values.length)
  let at = 0
  for await (const part of inTurns(values)) {
    for (const value of part) {
      outcome[at] = holds(value) ? 1 : 0
      at += 1
    }
  }
  return outcome
}

async function combine({ kind, of }: Combination, table: MatchedTable): Promise<Uint8Array> {
  const [first, ...rest] = of
  const isEvery = kind === 'every'
  if (first === undefined) return new Uint8Array(table.length).fill(isEvery ? 1 : 0)
  const matches = await matchesOf(first, table)
  for (const part of rest) {
    await waitForTurn()
    const other = await matchesOf(part, table)
    for (let row = 0; row < matches.length; row += 1) {
      const own = matches[row] ?? 0
      const more = other[row] ?? 0
      matches[row] = isEvery ? own & more : own | more
    }
  }
  return matches
}

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

/** One field of many rows. Values that occur often are stored once, so that they are compared and sorted once. */
export interface Column {
  /** All values; undefined is one of them if a row has none. */
  readonly values: readonly unknown[]
  /** For each row, the place of its value in `values`. */
  readonly codes: Uint32Array
}

/** After this number of rows, a column whose values are mostly different stores each value of each row. */
const SAMPLED_ROWS = 2048
const MAX_DIFFERENT = 0.5

export class ColumnBuilder {
  readonly #values: unknown[] = []
  readonly #codes = new Numbers()
  /** Lists and objects have their JSON text as key. Absent: values are no longer looked up. */
  #codeByKey: Map<unknown, number> | undefined = new Map()
  #length = 0

  add(value: unknown): void {
    this.#codes.push(this.#codeOf(value))
    this.#length += 1
    if (this.#length === SAMPLED_ROWS && this.#values.length > MAX_DIFFERENT * SAMPLED_ROWS) this.#codeByKey = undefined
  }

  build(): Column {
    return { values: this.#values, codes: this.#codes.toArray() }
  }

  #codeOf(value: unknown): number {
    if (this.#codeByKey === undefined) return this.#values.push(value) - 1
    const key = typeof value === 'object' && value !== null ? `json ${JSON.stringify(value)}` : value
    const known = this.#codeByKey.get(key)
    if (known !== undefined && typeof this.#values[known] === typeof value) return known
    const code = this.#values.push(value) - 1
    this.#codeByKey.set(key, code)
    return code
  }
}

export function columnOf(values: readonly unknown[]): Column {
  const builder = new ColumnBuilder()
  for (const value of values) builder.add(value)
  return builder.build()
}
