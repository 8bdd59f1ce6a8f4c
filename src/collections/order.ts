/** The order of a collection: the grammar of `sort`, and how the values of rows are compared. */
import { CollectionError } from './request.ts'
import type { SortBy, Source } from './sources.ts'
import { castToInteger, type Element, fieldValue, toDatabaseNumber, toText } from './value.ts'

/** A parsed `sort`. One sign applies to all fields; no fields means the default sort of the source in that direction. */
interface Sort {
  readonly descending: boolean
  readonly fields: readonly string[]
}

/**
 * Parses `sort`. Only the first character is a sign; a space is a decoded `+`. A sign in front of a later field is part
 * of its name, so the field is unknown (1403).
 */
export function parseSort(text: string): Sort {
  const rest = /^[+ -]/.test(text) ? text.slice(1) : text
  const fields = rest.trim() === '' ? [] : rest.split(',').map((field) => field.trim())
  return { descending: text.startsWith('-'), fields }
}

/** Returns the fields of `sort`, else those of the default sort of the source. */
export function sortFieldsOf(
  sort: string | undefined,
  { defaultSort = '' }: Pick<Source, 'defaultSort'>,
): readonly string[] {
  const { fields } = parseSort(sort ?? '')
  return fields.length > 0 ? fields : parseSort(defaultSort).fields
}

export interface SortField {
  readonly field: string
  /** Equal for sort fields of one source with equal sort values. */
  readonly key: string
  readonly toSortValue: (value: unknown) => SortValue
}

/** Fields in order of precedence; the sign -1 reverses all of them. */
export interface Sorting {
  readonly sign: 1 | -1
  readonly fields: readonly SortField[]
}

/**
 * Returns the fields that a request sorts by: those of `sort`, else the default sort of the source; `undefined` if there
 * is neither. Reads the first row only. Throws CollectionError 1403 (unknown field) and 1404 (no field).
 */
export function parseSorting(text: string | undefined, source: Source, rows: readonly Element[]): Sorting | undefined {
  const byDefault = source.defaultSort === undefined ? undefined : parseSort(source.defaultSort)
  if (text === undefined) {
    return byDefault && createSorting(byDefault, source, source.engine === 'array' && !source.caseSensitiveOrder)
  }
  const sort = parseSort(text)
  const ignoresCase = source.engine === 'array'
  if (sort.fields.length === 0) {
    if (byDefault) return createSorting({ ...byDefault, descending: sort.descending }, source, ignoresCase)
    throw new CollectionError(1404)
  }
  const allowed = sortableFields(source, rows)
  if (allowed && sort.fields.some((field) => !allowed.includes(field))) throw new CollectionError(1403)
  return createSorting(sort, source, ignoresCase)
}

/** An array source without a list of sortable fields takes those of its first row; without rows it takes any. */
function sortableFields(source: Source, rows: readonly Element[]): readonly string[] | undefined {
  if (source.engine === 'database') return Object.keys(source.fields)
  const first = rows[0]
  return source.sortable ?? (typeof first === 'object' ? Object.keys(first) : first === undefined ? undefined : [])
}

function createSorting(sort: Sort, source: Source, ignoresCase: boolean): Sorting {
  const fields: SortField[] = []
  for (const field of sort.fields)
    for (const by of source.sortBy?.[field] ?? [{ field }]) fields.push(createSortField(by, source, ignoresCase))
  return { sign: sort.descending ? -1 : 1, fields }
}

function createSortField(by: SortBy, source: Source, ignoresCase: boolean): SortField {
  const toNumber = numberReader(by, source)
  const toSortValue = (value: unknown): SortValue => {
    if (value === undefined || typeof value === 'number') return value
    const number = toNumber?.(value)
    if (number !== undefined) return number
    const text = typeof value === 'string' ? value : toText(value)
    return codePointKey(ignoresCase ? text.toLowerCase() : text)
  }
  return { field: by.field, key: `${by.field} ${by.as ?? ''} ${ignoresCase}`, toSortValue }
}

/** Returns how the values of a field become numbers; `undefined`: they stay texts. */
function numberReader({ field, as }: SortBy, source: Source): ((value: unknown) => number | undefined) | undefined {
  if (as === 'integer') return castToInteger
  const kind = source.engine === 'database' ? source.fields[field] : undefined
  return kind === 'number' || kind === 'real' ? toDatabaseNumber : undefined
}

/** Texts are sorted by themselves, whatever field is named. */
export function sortedValue(element: Element, field: string): unknown {
  return typeof element === 'string' ? element : fieldValue(element, field)
}

/** What a value is sorted as: missing values first, then numbers, then texts as their `codePointKey`. */
export type SortValue = undefined | number | string

export function compareSortValues(a: SortValue, b: SortValue): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  return rank(a) - rank(b)
}

function rank(value: SortValue): number {
  return value === undefined ? 0 : typeof value === 'number' ? 1 : 2
}

/**
 * Returns a text whose UTF-16 code units sort as the code points of `text` do, which is how SQLite and Python compare
 * texts. Surrogate pairs have lower code units than U+E000 to U+FFFF, so each pair is moved behind U+FFFF. Equal keys
 * mean equal texts. Most texts contain neither and are returned unchanged.
 */
export function codePointKey(text: string): string {
  if (!LEAD_SURROGATE_OR_FFFF.test(text)) return text
  return text.replace(PAIR_OR_FFFF, (found) => (found === '\uffff' ? '\uffff\0' : `\uffff${found}`))
}

const LEAD_SURROGATE_OR_FFFF = /[\ud800-\udbff\uffff]/
const PAIR_OR_FFFF = /[\ud800-\udbff][\udc00-\udfff]|\uffff/g

/** Compares two texts by code points, independent of the locale. */
export function compareText(a: string, b: string): number {
  return compareSortValues(codePointKey(a), codePointKey(b))
}
