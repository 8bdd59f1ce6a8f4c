/**
 * Reads fields, and the sort values of rows, from their bytes: the same values that `compileMatching` computes from parsed
 * rows. The bytes are JSON; the check of the response has refused others. A field is found as `fieldValue` finds it in a parsed row: by its full name
 * or along its dots; and, in rows of a nested source, along its first underscore. If several of these exist, the first
 * in the row counts: nodes write each field once.
 */
import { OPEN, QUOTE, valueIn } from '../core/json-scan.ts'
import { isObject } from '../core/values.ts'
import { createMemberScanner, hasEscape, type MemberScanner, scanObject } from './member-scanner.ts'
import { compareSortValues, parseSorting, type Sorting, type SortValue } from './order.ts'
import { splitNestedName } from './select.ts'
import type { Source } from './sources.ts'
import { fieldValue, type Row } from './value.ts'

/** The sort values of one row, in order of precedence. */
export type SortKeys = readonly SortValue[]

export interface SortKeyReader {
  /** -1: the order of the keys is reversed. */
  readonly sign: 1 | -1
  readKeys(bytes: Buffer, from: number, to: number): SortKeys
  keysOf(element: unknown): SortKeys
}

const NO_KEYS: SortKeys = []
const byDefault = new WeakMap<Source, SortKeyReader>()

/** Returns the reader for the default sort of a source. It keeps nothing between rows, so all merges share it. */
export function defaultSortKeyReader(source: Source): SortKeyReader {
  const reader = byDefault.get(source) ?? createSortKeyReader(parseSorting(undefined, source, []), source)
  byDefault.set(source, reader)
  return reader
}

/** Without a sorting, rows have no keys and stay in the order of the inputs. */
export function createSortKeyReader(sorting: Sorting | undefined, source: Source): SortKeyReader {
  if (sorting === undefined) return { sign: 1, readKeys: () => NO_KEYS, keysOf: () => NO_KEYS }
  const { sign, fields: sortFields } = sorting
  const reader = createFieldReader(
    sortFields.map(({ field }) => field),
    source,
  )
  return { sign, readKeys, keysOf }

  function readKeys(bytes: Buffer, from: number, to: number): SortKeys {
    reader.scan(bytes, from)
    // A row that is a text is sorted by itself.
    const text = bytes[from] === QUOTE ? decodeValue(bytes, from, to) : undefined
    const keys: SortValue[] = []
    for (let at = 0; at < sortFields.length; at++) {
      keys.push(sortFields[at]?.toSortValue(text ?? reader.readValue(bytes, at)))
    }
    return keys
  }

  function keysOf(element: unknown): SortKeys {
    const text = typeof element === 'string' ? element : undefined
    return sortFields.map(({ field, toSortValue }) =>
      toSortValue(isObject(element) ? readerOf(field, source)(element) : text),
    )
  }
}

export function compareSortKeys(a: SortKeys, b: SortKeys, count = a.length): number {
  for (let at = 0; at < count; at++) {
    const order = compareSortValues(a[at], b[at])
    if (order !== 0) return order
  }
  return 0
}

interface FieldReader {
  /** Finds the fields of the row at `from`. */
  scan(bytes: Buffer, from: number): void
  /** Returns the value of a field, by its index, of the row that `scan` scanned last. A row that is no object has none. */
  readValue(bytes: Buffer, field: number): unknown
}

interface FieldPath {
  /** The index of the first name in the scanner of the row. */
  readonly slot: number
  /** One scanner for each further name. */
  readonly inner: readonly MemberScanner[]
}

export function createFieldReader(fields: readonly string[], source: Source): FieldReader {
  const paths = fields.map((field) => fieldPaths(field, source))
  const scanner = createMemberScanner(paths.map((alternatives) => alternatives.map(([first = '']) => first)))
  const compiled: FieldPath[][] = []
  for (const alternatives of paths) {
    const ofField: FieldPath[] = []
    for (const [first = '', ...rest] of alternatives)
      ofField.push({ slot: scanner.slots.get(first) ?? 0, inner: rest.map((name) => createMemberScanner([[name]])) })
    compiled.push(ofField)
  }
  const { found } = scanner
  return { scan, readValue }

  function scan(bytes: Buffer, from: number): void {
    if (bytes[from] === OPEN) scanObject(scanner, bytes, from)
    else found.fill(-1)
  }

  function readValue(bytes: Buffer, field: number): unknown {
    for (const { slot, inner } of compiled[field] ?? []) {
      let start = found[slot * 2] ?? -1
      let end = found[slot * 2 + 1] ?? -1
      if (start < 0) continue
      for (const within of inner) {
        if (bytes[start] !== OPEN) return undefined
        scanObject(within, bytes, start)
        start = within.found[0] ?? -1
        end = within.found[1] ?? -1
        if (start < 0) return undefined
      }
      return decodeValue(bytes, start, end)
    }
    return undefined
  }
}

/** Returns the parsed row; `undefined` if it is not JSON. */
export function parseRow(bytes: Buffer, from: number, to: number): unknown {
  return valueIn(bytes, from, to)?.value
}

/** Returns what reads a field of a parsed row. */
export function readerOf(field: string, source: Source): (row: Row) => unknown {
  const path = source.engine === 'database' && source.nested ? splitNestedName(field) : undefined
  if (path === undefined) return (row) => fieldValue(row, field)
  const [outer, inner] = path
  return (row) => {
    const nested = row[outer]
    const isNested = typeof nested === 'object' && nested !== null && Object.hasOwn(nested, inner)
    return isNested ? ((nested as Row)[inner] ?? undefined) : fieldValue(row, field)
  }
}

/** Returns the paths under which a field may be found in a row. */
function fieldPaths(field: string, source: Source): readonly (readonly string[])[] {
  const nested = source.engine === 'database' && source.nested ? splitNestedName(field) : undefined
  const dotted = field.split('.')
  return [[field], ...(dotted.length > 1 ? [dotted] : []), ...(nested ? [nested] : [])]
}

/** Returns the value between two positions; `undefined` for null, as for a missing value. */
function decodeValue(bytes: Buffer, from: number, to: number): unknown {
  if (bytes[from] === QUOTE && !hasEscape(bytes, from, to)) return bytes.toString('utf8', from + 1, to - 1)
  return wholeNumberAt(bytes, from, to) ?? valueIn(bytes, from, to)?.value ?? undefined
}

/** Returns a number of at most 15 digits, which is exact in a double; `undefined` for everything else. */
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
