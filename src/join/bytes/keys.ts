/** Sort keys out of the bytes of rows: the same keys as `collect` has of parsed ones (order.ts). */

import { endOfCheckedValue, OPEN, QUOTE, valueIn } from '../../core/json-scan.ts'
import type { Sorting } from '../../query/order.ts'
import type { Source } from '../../query/source.ts'
import { compareKeys, type Key } from '../../query/value.ts'
import { createFinder, decode, type Finder, find, waysOf } from './fields.ts'
import type { ReadRow } from './rows.ts'

export type Keys = readonly Key[]

/** Reads rows for their end, and then the keys of the row that was read last. */
export interface KeyReader {
  readonly read: ReadRow
  /** The row that `read` saw last, from where to where. */
  keys(bytes: Buffer, from: number, to: number): Keys
}

const NONE: Keys = []

/** No sorting: no keys, and rows stay in the order of their parts. */
export function createKeyReader(sorting: Sorting | undefined, source: Source): KeyReader {
  if (sorting === undefined) return { read: endOfCheckedValue, keys: () => NONE }
  const sortKeys = sorting.keys
  const fields = createFieldReader(
    sortKeys.map((key) => key.field),
    source,
  )
  return { read: fields.read, keys }

  function keys(bytes: Buffer, from: number, to: number): Keys {
    // A text is its own key.
    const text = bytes[from] === QUOTE ? decode(bytes, from, to) : undefined
    const all: Key[] = []
    for (let at = 0; at < sortKeys.length; at++) {
      all.push(sortKeys[at]?.keyOf(text ?? fields.value(bytes, from, at)))
    }
    return all
  }
}

export function compareAll(a: Keys, b: Keys, before = a.length): number {
  for (let at = 0; at < before; at++) {
    const order = compareKeys(a[at], b[at])
    if (order !== 0) return order
  }
  return 0
}

export interface FieldReader {
  readonly read: ReadRow
  /** Of the row that `read` saw last, the value of the `at`th field. */
  value(bytes: Buffer, from: number, at: number): unknown
}

interface Way {
  /** Where the first name stands in the finder. */
  readonly slot: number
  readonly inner: readonly Finder[]
}

export function createFieldReader(fields: readonly string[], source: Source): FieldReader {
  const ways = fields.map((field) => waysOf(field, source))
  const finder = createFinder(ways.map((some) => some.map(([first = '']) => first)))
  const found = ways.map((some) =>
    some.map(([first = '', ...rest]): Way => {
      const slot = finder.names.findIndex((name) => name.toString() === first)
      return { slot, inner: rest.map((name) => createFinder([[name]])) }
    }),
  )
  return {
    read: (bytes, at, end) =>
      bytes[at] === OPEN ? find(finder, bytes, at, end) : (end ?? endOfCheckedValue(bytes, at)),
    value: (bytes, from, at) => (bytes[from] === OPEN ? valueFound(finder, found[at] ?? [], bytes) : undefined),
  }
}

function valueFound(finder: Finder, ways: readonly Way[], bytes: Buffer): unknown {
  for (const { slot, inner } of ways) {
    const from = finder.found[slot * 2] ?? -1
    const to = finder.found[slot * 2 + 1] ?? -1
    if (from >= 0) return valueInto(bytes, from, to, inner)
  }
  return undefined
}

function valueInto(bytes: Buffer, from: number, to: number, inner: readonly Finder[]): unknown {
  let [start, end] = [from, to]
  for (const finder of inner) {
    if (bytes[start] !== OPEN || find(finder, bytes, start) < 0) return undefined
    start = finder.found[0] ?? -1
    end = finder.found[1] ?? -1
    if (start < 0) return undefined
  }
  return decode(bytes, start, end)
}

/** The row as JSON has it, for what must be parsed. */
export function rowAt(bytes: Buffer, from: number, to: number): unknown {
  return valueIn(bytes, from, to)?.value
}
