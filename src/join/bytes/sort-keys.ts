import {
  BACKSLASH,
  CLOSE,
  COLON,
  COMMA,
  endOfCheckedValue,
  endOfOpen,
  endOfText,
  endOfValue,
  OPEN,
  QUOTE,
  skipSpace,
  valueIn,
} from '../../core/json-scan.ts'
import type { Sorting } from '../../query/order.ts'
import { nestedName } from '../../query/select.ts'
import type { Source } from '../../query/sources.ts'
import { compareKeys, type Key } from '../../query/value.ts'
import type { ReadRow } from './rows.ts'

/**
 * Reads fields out of the bytes of one row, in the same walk that finds where the row ends. A field is found as
 * `valueAt` finds it in a parsed row: under its own name, or along its dots; and, in rows that left their source
 * nested (nest.ts), along its first underscore. Of several of these, or of equal names, the first in the row counts:
 * no node writes a field twice.
 */

/** Finds named members of one object. */
export interface Finder {
  readonly names: readonly Buffer[]
  /** For each name, the wishes that it fulfils, as bits; where `all` are fulfilled the walk is over. */
  readonly fulfils: readonly number[]
  readonly all: number
  /** After a walk, from where to where the values stand: two places for each name, -1 where it is absent. */
  readonly found: Int32Array
}

/** Each wish is a list of names, of which one is enough. */
export function createFinder(wishes: readonly (readonly string[])[]): Finder {
  const names = [...new Set(wishes.flat())]
  const bits = (name: string) => wishes.reduce((sum, some, at) => sum | (some.includes(name) ? 1 << at : 0), 0)
  return {
    names: names.map((name) => Buffer.from(name)),
    fulfils: names.map(bits),
    all: 2 ** wishes.length - 1,
    found: new Int32Array(names.length * 2).fill(-1),
  }
}

/** Walks over the object at `at` and answers where it ends, or -1; `end`: where it ends, if that is known. */
export function find(finder: Finder, bytes: Buffer, at: number, end = -1): number {
  const { found, all } = finder
  for (let one = 0; one < found.length; one++) found[one] = -1
  let fulfilled = 0
  let place = skipSpace(bytes, at + 1)
  if (bytes[place] === CLOSE) return place + 1
  for (;;) {
    if (bytes[place] !== QUOTE) return -1
    const nameEnd = endOfText(bytes, place)
    if (nameEnd < 0) return -1
    const colon = skipSpace(bytes, nameEnd)
    if (bytes[colon] !== COLON) return -1
    const from = skipSpace(bytes, colon + 1)
    const to = endOfValue(bytes, from)
    if (to < 0) return -1
    fulfilled |= note(finder, bytes, place, nameEnd, from, to)
    if (fulfilled === all) return end < 0 ? endOfOpen(bytes, to) : end
    place = skipSpace(bytes, to)
    if (bytes[place] === CLOSE) return place + 1
    if (bytes[place] !== COMMA) return -1
    place = skipSpace(bytes, place + 1)
  }
}

function note(finder: Finder, bytes: Buffer, quote: number, nameEnd: number, from: number, to: number): number {
  const { names, found, fulfils } = finder
  for (let one = 0; one < names.length; one++) {
    const name = names[one]
    if (name === undefined || found[one * 2] !== -1 || !isName(name, bytes, quote, nameEnd)) continue
    found[one * 2] = from
    found[one * 2 + 1] = to
    return fulfils[one] ?? 0
  }
  return 0
}

function isName(name: Buffer, bytes: Buffer, quote: number, end: number): boolean {
  if (end - quote - 2 === name.length) {
    let at = 0
    while (at < name.length && bytes[quote + 1 + at] === name[at]) at++
    if (at === name.length) return true
  }
  // A name may be written with escapes; it is longer then.
  if (end - quote - 2 <= name.length || !hasEscape(bytes, quote, end)) return false
  return valueIn(bytes, quote, end)?.value === name.toString()
}

/** What a name may be written as, each as a way into the row. */
export function waysOf(field: string, source: Source): readonly (readonly string[])[] {
  const nested = source.engine === 'database' && source.nested ? nestedName(field) : undefined
  const dotted = field.split('.')
  return [[field], ...(dotted.length > 1 ? [dotted] : []), ...(nested ? [nested] : [])]
}

/** The value at a place; `undefined` for null, as for what is absent. */
export function decode(bytes: Buffer, from: number, to: number): unknown {
  if (bytes[from] === QUOTE && !hasEscape(bytes, from, to)) return bytes.toString('utf8', from + 1, to - 1)
  return wholeNumberAt(bytes, from, to) ?? valueIn(bytes, from, to)?.value ?? undefined
}

function hasEscape(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

/** Digits alone, which most numbers are, so few of them that they are exact. */
function wholeNumberAt(bytes: Buffer, from: number, to: number): number | undefined {
  if (to - from > 15) return undefined
  let number = 0
  for (let at = from; at < to; at++) {
    const digit = (bytes[at] ?? 0) - 0x30
    if (digit < 0 || digit > 9) return undefined
    number = number * 10 + digit
  }
  return number
}

/** Sort keys out of the bytes of rows: the same keys as `collect` has of parsed ones (order.ts). */

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
