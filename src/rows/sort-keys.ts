/** Reads the sort values of rows from their bytes: the same values that `collect` computes from parsed rows. */
import { endOfValue, OPEN, QUOTE, valueIn } from '../core/json-scan.ts'
import type { Sorting } from '../query/order.ts'
import type { Source } from '../query/sources.ts'
import { compareSortValues, type SortValue } from '../query/value.ts'
import { createMemberScanner, decodeValue, fieldPaths, type MemberScanner, scanObject } from './member-scanner.ts'
import type { ScanRow } from './rows.ts'

/** The sort values of one row, in order of precedence. */
export type SortKeys = readonly SortValue[]

export interface SortKeyReader {
  readonly scan: ScanRow
  /** Returns the sort keys of the row that `scan` scanned last. */
  readKeys(bytes: Buffer, from: number, to: number): SortKeys
}

const NO_KEYS: SortKeys = []

/** Without a sorting, rows have no keys and stay in the order of the inputs. */
export function createSortKeyReader(sorting: Sorting | undefined, source: Source): SortKeyReader {
  if (sorting === undefined) return { scan: endOfValue, readKeys: () => NO_KEYS }
  const sortFields = sorting.fields
  const reader = createFieldReader(
    sortFields.map(({ field }) => field),
    source,
  )
  return { scan: reader.scan, readKeys }

  function readKeys(bytes: Buffer, from: number, to: number): SortKeys {
    // A row that is a text is sorted by itself.
    const text = bytes[from] === QUOTE ? decodeValue(bytes, from, to) : undefined
    const keys: SortValue[] = []
    for (let at = 0; at < sortFields.length; at++) {
      keys.push(sortFields[at]?.toSortValue(text ?? reader.readValue(bytes, from, at)))
    }
    return keys
  }
}

/** Compares the first `count` keys. */
export function compareSortKeys(a: SortKeys, b: SortKeys, count = a.length): number {
  for (let at = 0; at < count; at++) {
    const order = compareSortValues(a[at], b[at])
    if (order !== 0) return order
  }
  return 0
}

export interface FieldReader {
  readonly scan: ScanRow
  /** Returns the value of a field, by its index, of the row that `scan` scanned last. */
  readValue(bytes: Buffer, from: number, field: number): unknown
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
  const compiled = paths.map((alternatives) =>
    alternatives.map(([first = '', ...rest]): FieldPath => {
      const slot = scanner.names.findIndex((name) => name.toString() === first)
      return { slot, inner: rest.map((name) => createMemberScanner([[name]])) }
    }),
  )
  return {
    scan: (bytes, at, end) =>
      bytes[at] === OPEN ? scanObject(scanner, bytes, at, end) : (end ?? endOfValue(bytes, at)),
    readValue: (bytes, from, field) =>
      bytes[from] === OPEN ? readFirstPath(scanner, compiled[field] ?? [], bytes) : undefined,
  }
}

function readFirstPath(scanner: MemberScanner, paths: readonly FieldPath[], bytes: Buffer): unknown {
  for (const { slot, inner } of paths) {
    const from = scanner.found[slot * 2] ?? -1
    const to = scanner.found[slot * 2 + 1] ?? -1
    if (from >= 0) return readInner(bytes, from, to, inner)
  }
  return undefined
}

function readInner(bytes: Buffer, from: number, to: number, inner: readonly MemberScanner[]): unknown {
  let [start, end] = [from, to]
  for (const scanner of inner) {
    if (bytes[start] !== OPEN || scanObject(scanner, bytes, start, end) < 0) return undefined
    start = scanner.found[0] ?? -1
    end = scanner.found[1] ?? -1
    if (start < 0) return undefined
  }
  return decodeValue(bytes, start, end)
}

/** Returns the parsed row; `undefined` if it is not JSON. */
export function parseRow(bytes: Buffer, from: number, to: number): unknown {
  return valueIn(bytes, from, to)?.value
}
