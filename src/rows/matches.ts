/** Applies a predicate to the rows of a table: each different value of a column is tested once. */
import { inTurns, waitForTurn } from '../core/turns.ts'
import type { Predicate } from '../query/predicate.ts'
import type { Element } from '../query/value.ts'
import type { Column } from './column.ts'

export interface MatchedTable {
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
