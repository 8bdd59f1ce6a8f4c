import { CollectionError } from './request.ts'
import type { SortBy, Source } from './sources.ts'
import type { Element } from './value.ts'
import { asNumber, asText, codePointKey, compareKeys, type Key, valueAt } from './value.ts'

/** One sign for the whole list; no fields means the source's own order in that direction. */
export interface Sort {
  readonly descending: boolean
  readonly fields: readonly string[]
}

/**
 * Reads the text of `sort`. Only its first character is a sign; a `+` that arrives as a space is one too.
 * A sign before a later field stays part of the name, so that no field is found under it (1403).
 */
export function parseSort(text: string): Sort {
  const rest = /^[+ -]/.test(text) ? text.slice(1) : text
  const fields = rest.trim() === '' ? [] : rest.split(',').map((field) => field.trim())
  return { descending: text.startsWith('-'), fields }
}

export type Compare = (a: Element, b: Element) => number

/** A field to sort by, and what its value is sorted as. */
export interface SortKey {
  readonly field: string
  readonly keyOf: (value: unknown) => Key
}

/** Keys in their precedence; -1 turns all of them round. */
export interface Sorting {
  readonly sign: 1 | -1
  readonly keys: readonly SortKey[]
}

/**
 * The order that a request asks for, or the source's own; `undefined`: the rows stay as they are.
 * Fields count in the order in which they are named. Throws 1403 (unknown field) and 1404 (no field).
 */
export function readOrder(text: string | undefined, source: Source, rows: readonly Element[]): Compare | undefined {
  const sorting = readSorting(text, source, rows)
  return sorting && comparison(sorting)
}

/** The same as data, for who has no elements but their bytes. Of `rows` only the first is looked at. */
export function readSorting(text: string | undefined, source: Source, rows: readonly Element[]): Sorting | undefined {
  const own = source.order === undefined ? undefined : parseSort(source.order)
  if (text === undefined) return own && sortingBy(own, source, source.engine === 'array' && !source.caseCounts)
  const asked = parseSort(text)
  const lower = source.engine === 'array'
  if (asked.fields.length === 0) {
    if (own) return sortingBy({ ...own, descending: asked.descending }, source, lower)
    throw new CollectionError(1404)
  }
  const allowed = sortable(source, rows)
  if (allowed && asked.fields.some((field) => !allowed.includes(field))) throw new CollectionError(1403)
  return sortingBy(asked, source, lower)
}

/** Where an array source has no list of its own, the fields of the first row are the list; no rows, no list. */
function sortable(source: Source, rows: readonly Element[]): readonly string[] | undefined {
  if (source.engine === 'database') return Object.keys(source.fields)
  const first = rows[0]
  return source.sortable ?? (typeof first === 'object' ? Object.keys(first) : first === undefined ? undefined : [])
}

/** A database compares text as it is, an array in lower case. */
function sortingBy(sort: Sort, source: Source, lower: boolean): Sorting {
  const by = sort.fields.flatMap((field) => source.sortBy?.[field] ?? [{ field }])
  return { sign: sort.descending ? -1 : 1, keys: by.map((one) => sortKey(one, source, lower)) }
}

function comparison({ sign, keys }: Sorting): Compare {
  return (a, b) => {
    for (const { field, keyOf } of keys) {
      const order = compareKeys(keyOf(valueIn(a, field)), keyOf(valueIn(b, field)))
      if (order !== 0) return sign * order
    }
    return 0
  }
}

/** The elements of a catalogue are their own key. */
function valueIn(element: Element, field: string): unknown {
  return typeof element === 'string' ? element : valueAt(element, field)
}

function sortKey(by: SortBy, source: Source, lower: boolean): SortKey {
  const asNumbers = by.as === 'number' || (source.engine === 'database' && source.fields[by.field] === 'number')
  const keyOf = (value: unknown): Key => {
    if (value === undefined || typeof value === 'number') return value
    const number = asNumbers ? asNumber(value) : undefined
    return number ?? codePointKey(lower ? asText(value).toLowerCase() : asText(value))
  }
  return { field: by.field, keyOf }
}
