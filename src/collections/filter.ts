/** Predicates for named query parameters (`status`, `os.platform`, …) and for `search`. */
import { ownEntry } from '../core/values.ts'
import { compileValueTest, parseTimeFrame, timestampBefore, type ValuePredicate } from './condition.ts'
import { type Predicate, testValue } from './predicate.ts'
import { CollectionError } from './request.ts'
import type { ArraySource, DatabaseSource, Filter, Source } from './sources.ts'
import { createLikeMatcher, createSubstringMatcher, type Element, fieldValue, toNumber, toText } from './value.ts'

type FilterBy<By extends Filter['by']> = Extract<Filter, { by: By }>

/** Returns the predicate of a named parameter. Throws CollectionError with the code of the filter for invalid values. */
export function compileFilter(name: string, value: string, source: Source, now: Date): Predicate {
  const filter = ownEntry(source.filters, name) ?? { by: 'equal' }
  switch (filter.by) {
    case 'equal':
      return compileEqual(filter, name, value, source, now)
    case 'range':
      return compileRange(filter, value)
    case 'olderThan':
      return compileOlderThan(filter, value, now)
    case 'listed': {
      const listed = new Set(value.toLowerCase().split(','))
      return testValue(filter.field, (found) => listed.has(toText(found).toLowerCase()))
    }
  }
}

const ALL: Predicate = { kind: 'every', of: [] }

function compileEqual(filter: FilterBy<'equal'>, name: string, value: string, source: Source, now: Date): Predicate {
  if (filter.matchAll !== undefined && value.split(',').includes(filter.matchAll)) return ALL
  if (filter.allowed && !filter.allowed.values.includes(value)) throw new CollectionError(filter.allowed.code)
  const fields = filter.fields ?? [name]
  return { kind: 'some', of: fields.map((field) => testValue(field, compileEquality(field, value, source, now))) }
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

function compileRange(filter: FilterBy<'range'>, value: string): Predicate {
  const [, from, to = from] = /^([0-9]+)(?:-([0-9]+))?$/.exec(value) ?? []
  if (from === undefined) throw new CollectionError(1203)
  return testValue(filter.field, (found) => {
    const number = toNumber(found)
    return number !== undefined && number >= Number(from) && number <= Number(to)
  })
}

function compileOlderThan(filter: FilterBy<'olderThan'>, value: string, now: Date): Predicate {
  const limit = timestampBefore(now, parseTimeFrame(value))
  const isOlder = (found: unknown) => toText(found) < limit
  const isMissing: Predicate = { kind: 'field', field: filter.field, holds: (found) => found === undefined }
  const byFallback: Predicate = { kind: 'every', of: [isMissing, testValue(filter.fallbackField, isOlder)] }
  return { kind: 'some', of: [testValue(filter.field, isOlder), byFallback] }
}

/** A parsed `search`: elements must contain the text, or must not if it is negated (`!text`). */
interface Search {
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
export function compileSearch(text: string, source: Source): Predicate {
  const search = parseSearch(text)
  const found: Predicate =
    source.engine === 'database' ? searchDatabase(search.text, source) : searchArray(search.text, source)
  return search.negated ? { kind: 'not', of: found } : found
}

/** Digits find the agent with that number, regardless of leading zeros. */
function searchDatabase(text: string, source: DatabaseSource): Predicate {
  const contains = createLikeMatcher(text)
  const { numberSearchField, hidden = [] } = source
  const fields = Object.keys(source.fields).filter((field) => {
    return field !== numberSearchField && source.fields[field] !== 'status'
  })
  const of = [...fields, ...hidden].map((field) => testValue(field, (value) => contains(toText(value))))
  if (numberSearchField === undefined || !/^[0-9]+$/.test(text)) return { kind: 'some', of }
  const number = Number(text)
  return { kind: 'some', of: [...of, testValue(numberSearchField, (value) => toNumber(value) === number)] }
}

function searchArray(text: string, source: ArraySource): Predicate {
  const contains = createSubstringMatcher(text)
  const { searchable } = source
  const holds = (element: Element) => {
    // Texts have no fields: they are searched themselves.
    if (typeof element === 'string' || searchable === undefined) return leaves(element).some(contains)
    return searchable.some((field) => leaves(fieldValue(element, field)).some(contains))
  }
  return { kind: 'element', holds }
}

/** Returns all nested values as text. Field names are not searched. */
function leaves(value: unknown): string[] {
  if (value === undefined || value === null) return []
  return typeof value === 'object' ? Object.values(value).flatMap(leaves) : [String(value)]
}
