/** Predicates for named query parameters (`status`, `os.platform`, …) and for `search`. */
import { ownEntry } from '../core/values.ts'
import {
  compileValueTest,
  parseTimeFrame,
  type RowPredicate,
  timestampBefore,
  type ValuePredicate,
} from './condition.ts'
import { CollectionError } from './request.ts'
import type { Filter, Source } from './sources.ts'
import { createLikeMatcher, createSubstringMatcher, type Element, fieldValue, toNumber, toText } from './value.ts'

type FilterBy<By extends Filter['by']> = Extract<Filter, { by: By }>

/** Returns the predicate of a named parameter. Throws CollectionError with the code of the filter for invalid values. */
export function compileFilter(name: string, value: string, source: Source, now: Date): RowPredicate {
  const filter = ownEntry(source.filters, name) ?? { by: 'equal' }
  switch (filter.by) {
    case 'equal':
      return compileEqual(filter, name, value, source, now)
    case 'range':
      return compileRange(filter, value)
    case 'olderThan':
      return compileOlderThan(filter, value, now)
  }
}

function compileEqual(filter: FilterBy<'equal'>, name: string, value: string, source: Source, now: Date): RowPredicate {
  if (filter.matchAll !== undefined && value.split(',').includes(filter.matchAll)) return () => true
  if (filter.allowed && !filter.allowed.values.includes(value)) throw new CollectionError(filter.allowed.code)
  const fields = filter.fields ?? [name]
  const tests = fields.map((field) => ({ field, matches: compileEquality(field, value, source, now) }))
  return (element) => {
    return tests.some(({ field, matches }) => {
      const found = fieldValue(element, field)
      return found !== undefined && matches(found)
    })
  }
}

function compileEquality(field: string, value: string, source: Source, now: Date): ValuePredicate {
  if (source.engine === 'array') {
    return (found) => (Array.isArray(found) ? found.map(toText).includes(value) : toText(found) === value)
  }
  const kind = ownEntry(source.fields, field) ?? 'text'
  const tests = value
    .split(',')
    .map((one) => compileValueTest(kind === 'date' || kind === 'day' ? 'text' : kind, '=', one, now))
  return (found) => tests.some((test) => test(found))
}

function compileRange(filter: FilterBy<'range'>, value: string): RowPredicate {
  const [, from, to = from] = /^([0-9]+)(?:-([0-9]+))?$/.exec(value) ?? []
  if (from === undefined) throw new CollectionError(1203)
  return (element) => {
    const number = toNumber(fieldValue(element, filter.field))
    return number !== undefined && number >= Number(from) && number <= Number(to)
  }
}

function compileOlderThan(filter: FilterBy<'olderThan'>, value: string, now: Date): RowPredicate {
  const limit = timestampBefore(now, parseTimeFrame(value))
  return (element) => {
    const found = fieldValue(element, filter.field) ?? fieldValue(element, filter.fallbackField)
    return found !== undefined && toText(found) < limit
  }
}

/** A parsed `search`: elements must contain the text, or must not if it is negated (`!text`). */
export interface Search {
  readonly negated: boolean
  readonly text: string
}

/** Parses `search`: a leading `!` negates; double quotes around the rest are removed, other text is trimmed. */
export function parseSearch(text: string): Search {
  const negated = text.startsWith('!')
  const rest = negated ? text.slice(1) : text
  const quoted = rest.length > 1 && rest.startsWith('"') && rest.endsWith('"')
  return { negated, text: quoted ? rest.slice(1, -1) : rest.trim() }
}

/** Returns the predicate of `search`: LIKE over the fields of a database, a substring test over the values of an array. */
export function compileSearch(text: string, source: Source): RowPredicate {
  const search = parseSearch(text)
  const contains = source.engine === 'database' ? createLikeMatcher(search.text) : createSubstringMatcher(search.text)
  const number = source.engine === 'database' ? wholeNumber(search.text) : undefined
  return (element) => {
    const found = searchedValues(element, source).some(contains) || hasNumber(element, source, number)
    return found !== search.negated
  }
}

/** Digits find the agent with that number, regardless of leading zeros. */
function hasNumber(element: Element, source: Source, number: number | undefined): boolean {
  if (number === undefined || source.engine !== 'database' || source.numberSearchField === undefined) return false
  return toNumber(fieldValue(element, source.numberSearchField)) === number
}

function wholeNumber(text: string): number | undefined {
  return /^[0-9]+$/.test(text) ? Number(text) : undefined
}

function searchedValues(element: Element, source: Source): string[] {
  if (typeof element === 'string') return [element]
  if (source.engine === 'array') {
    const values = source.searchable ? source.searchable.map((field) => fieldValue(element, field)) : [element]
    return values.flatMap(leaves)
  }
  const fields = Object.keys(source.fields).filter((field) => {
    return field !== source.numberSearchField && source.fields[field] !== 'status'
  })
  return [...fields, ...(source.hidden ?? [])].flatMap((field) => {
    const value = fieldValue(element, field)
    return value === undefined ? [] : [toText(value)]
  })
}

/** Returns all nested values as text. Field names are not searched. */
function leaves(value: unknown): string[] {
  if (value === undefined || value === null) return []
  return typeof value === 'object' ? Object.values(value).flatMap(leaves) : [String(value)]
}
