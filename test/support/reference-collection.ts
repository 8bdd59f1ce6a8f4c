/**
 * What one node that held all rows would return: the oracle for joined responses. It is written for clarity, compares
 * texts as arrays of code points (as SQLite and Python do), and shares no code with `src`.
 */
import { ALWAYS_NESTED, NESTED_IN_PAIRS } from './nested-columns.ts'

export type ReferenceRow = Readonly<Record<string, unknown>>

export interface ReferenceCollection {
  /** `array` collections compare text in lower case; `database` collections compare it as it is. */
  readonly engine: 'database' | 'array'
  /** The sort text of requests without `sort`. */
  readonly order?: string
  /** Fields whose texts of digits count as numbers. */
  readonly numeric?: readonly string[]
  /** Fields that are sorted by other fields: `os.version` by `os.major`. */
  readonly sortBy?: Readonly<Record<string, readonly { readonly field: string; readonly as?: 'number' | 'integer' }[]>>
  /** Rows leave with their columns grouped: `scan_id` becomes `scan: { id }`. */
  readonly nested?: true
  /** Fields that `select` always adds, and that `search` does not look at. */
  readonly added?: readonly string[]
}

export interface ReferencePage {
  readonly items: ReferenceRow[]
  readonly totalItems: number
}

/** Returns the page of the query: `offset`, `limit`, `sort`, `search`, `select`, all else are filters. */
export function referencePage(
  rows: readonly ReferenceRow[],
  query: Readonly<Record<string, string>>,
  collection: ReferenceCollection,
): ReferencePage {
  const { offset = '0', limit = '500', sort, search, select, ...filters } = query
  const found = rows.filter((row) => {
    const passes = Object.entries(filters).every(([name, value]) => lower(fieldOf(row, name)) === value.toLowerCase())
    return passes && (search === undefined || contains(row, search, collection.added ?? []))
  })
  const sorted = referenceSort(found, sort, collection)
  const page = sorted.slice(Number(offset), Number(offset) + Number(limit))
  const items = page.map((row) => {
    const shown = select === undefined ? row : only(row, [...(collection.added ?? []), ...select.split(',')])
    return collection.nested ? grouped(shown) : shown
  })
  return { items, totalItems: found.length }
}

/** Returns the rows in the order of the sort text; rows with equal keys keep their order. */
export function referenceSort<R extends ReferenceRow>(
  rows: readonly R[],
  sort: string | undefined,
  { engine, order, numeric = [], sortBy = {} }: ReferenceCollection,
): R[] {
  const sortKeys = sort ?? order
  if (sortKeys === undefined) return [...rows]
  const fieldsOf = (text: string) =>
    text
      .replace(/^[+ -]/, '')
      .split(',')
      .filter(Boolean)
  const names = fieldsOf(sortKeys).length > 0 ? fieldsOf(sortKeys) : fieldsOf(order ?? '')
  const keys = names.flatMap(
    (field): readonly { field: string; as?: 'number' | 'integer' }[] =>
      sortBy[field] ?? [numeric.includes(field) ? { field, as: 'number' } : { field }],
  )
  const sign = sortKeys.startsWith('-') ? -1 : 1
  const lowerCase = engine === 'array'
  const keyed = rows.map((row) => ({
    row,
    key: keys.map(({ field, as }) => keyOf(fieldOf(row, field), { as, lowerCase })),
  }))
  return keyed
    .sort((a, b) => {
      for (const [at, key] of a.key.entries()) {
        const difference = compare(key, b.key[at] ?? [0])
        if (difference !== 0) return sign * difference
      }
      return 0
    })
    .map(({ row }) => row)
}

/** Missing values come first, then numbers, then texts as code points. */
type Key = readonly [rank: 0 | 1 | 2, ...values: number[]]

interface KeyOptions {
  readonly as: 'number' | 'integer' | undefined
  readonly lowerCase: boolean
}

function keyOf(value: unknown, { as, lowerCase }: KeyOptions): Key {
  if (value === undefined || value === null) return [0]
  if (typeof value === 'number') return [1, value]
  if (as === 'integer') return [1, Number.parseInt(printed(value), 10) || 0]
  if (as === 'number' && typeof value === 'string' && /^ *-?\d+(\.\d+)? *$/.test(value)) return [1, Number(value)]
  return [2, ...codePoints(lowerCase ? printed(value).toLowerCase() : printed(value))]
}

export function codePoints(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0)
}

/** Compares element by element; a list that is the beginning of another one comes before it. */
export function compare(a: readonly number[], b: readonly number[]): number {
  for (const [at, one] of a.entries()) {
    const other = b[at]
    if (other === undefined) return 1
    if (one !== other) return one - other
  }
  return a.length - b.length
}

function printed(value: unknown): string {
  if (Array.isArray(value)) return value.map(printed).join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function fieldOf(row: ReferenceRow, field: string): unknown {
  if (field in row) return row[field]
  return field.split('.').reduce<unknown>((value, name) => {
    return typeof value === 'object' && value !== null ? (value as ReferenceRow)[name] : undefined
  }, row)
}

function lower(value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : printed(value).toLowerCase()
}

function contains(row: ReferenceRow, text: string, added: readonly string[]): boolean {
  return Object.entries(row).some(
    ([name, value]) => !added.includes(name) && lower(value)?.includes(text.toLowerCase()),
  )
}

function only(row: ReferenceRow, names: readonly string[]): ReferenceRow {
  return Object.fromEntries(Object.entries(row).filter(([name]) => names.includes(name)))
}

function grouped(row: ReferenceRow): ReferenceRow {
  const present = Object.entries(row).filter(([, value]) => value !== null && value !== undefined)
  const groupOf = (name: string) => {
    const [group = '', member] = name.split(/_(.*)/s)
    if (member === undefined) return undefined
    if (ALWAYS_NESTED.includes(group)) return { group, member }
    // One counter alone stays flat; a counter that is null counts as a column of the row.
    const several = Object.keys(row).filter((other) => other.startsWith(`${group}_`)).length > 1
    return NESTED_IN_PAIRS.includes(group) && several ? { group, member } : undefined
  }
  // Groups come first, by name.
  const groups = new Set(present.flatMap(([name]) => groupOf(name)?.group ?? []))
  const result: Record<string, unknown> = Object.fromEntries([...groups].sort().map((group) => [group, {}]))
  for (const [name, value] of present) {
    const place = groupOf(name)
    if (place === undefined) result[name] = value
    else result[place.group] = { ...(result[place.group] as object), [place.member]: value }
  }
  return result
}
