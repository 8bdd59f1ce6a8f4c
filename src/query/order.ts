/** The order of a collection: the grammar of `sort`, and the comparison of rows. */
import { CollectionError } from './request.ts'
import type { SortBy, Source } from './sources.ts'
import {
  castToInteger,
  codePointKey,
  type Element,
  fieldValue,
  type SortValue,
  toDatabaseNumber,
  toText,
} from './value.ts'

/** A parsed `sort`. One sign applies to all fields; no fields means the default sort of the source in that direction. */
export interface Sort {
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

/** A field to sort by, and how its values compare. */
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
  const by = sort.fields.flatMap((field) => source.sortBy?.[field] ?? [{ field }])
  return { sign: sort.descending ? -1 : 1, fields: by.map((field) => createSortField(field, source, ignoresCase)) }
}

function createSortField(by: SortBy, source: Source, ignoresCase: boolean): SortField {
  const toNumber = numberReader(by, source)
  const toSortValue = (value: unknown): SortValue => {
    if (value === undefined || typeof value === 'number') return value
    const number = toNumber?.(value)
    return number ?? codePointKey(ignoresCase ? toText(value).toLowerCase() : toText(value))
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
