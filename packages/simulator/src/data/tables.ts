/**
 * Queries of database tables as the real framework evaluates them: by one statement with the flat condition
 * `WHERE own AND (filter) AND (q1) OR (q2) AND (search)`, in which an alternative escapes from all that precedes it.
 */

import { compileConditions } from '../../../../src/collections/condition.ts'
import { compileFilter, compileSearch } from '../../../../src/collections/filter.ts'
import { parseQuery, printQuery, type Query } from '../../../../src/collections/grammar.ts'
import { toRowPredicate } from '../../../../src/collections/predicate.ts'
import {
  CollectionError,
  type CollectionPage,
  type CollectionRequest,
  parseCollectionRequest,
} from '../../../../src/collections/request.ts'
import { compileProjection } from '../../../../src/collections/select.ts'
import type { DatabaseSource } from '../../../../src/collections/sources.ts'
import { fieldValue, type Row } from '../../../../src/collections/value.ts'
import { ownEntry } from '../../../../src/core/values.ts'
import { collect, matchRows } from './collect.ts'

type Holds = (row: Row) => boolean

/** One part of the condition. `or`: whether the next part is an alternative. */
interface Term {
  readonly holds: Holds
  readonly or: boolean
}

export interface TableOptions {
  /** What the statement demands of each row besides the request: members of a group. */
  readonly own?: Holds
  /** The rows of a page are read 20 at a time, and the last 20 are not cut. */
  readonly inParts?: true
}

const ROWS_PER_PART = 20
const MAX_LIMIT = 1000

/** Throws CollectionError: a wrong `select` before a wrong condition, as the statement is written in this order. */
export function pageOfTable(
  rows: readonly Row[],
  query: Readonly<Record<string, string>>,
  now: Date,
  source: DatabaseSource,
  { own, inParts }: TableOptions = {},
): CollectionPage<Row> {
  const request = parseCollectionRequest(query, now)
  const { filters, search, q, limit, ...rest } = request
  compileProjection(rest.select, source)
  const isCut = limit === undefined || limit <= ROWS_PER_PART || limit > MAX_LIMIT || inParts !== true
  const wanted = isCut ? limit : Math.ceil(limit / ROWS_PER_PART) * ROWS_PER_PART
  return collect(
    matchTable(rows, request, source, own),
    { ...rest, ...(wanted !== undefined && { limit: wanted }) },
    source,
  )
}

/** Returns the rows that match the request, in their order. Throws CollectionError. */
export function matchTable(
  rows: readonly Row[],
  request: CollectionRequest,
  source: DatabaseSource,
  own?: Holds,
): readonly Row[] {
  const first = readStatusFirst(request, source)
  const terms = [
    ...(own === undefined ? [] : [{ holds: own, or: false }]),
    ...(first === undefined ? [] : [{ holds: () => true, or: first.or }]),
    ...filterTerms(first?.request ?? request, source),
    ...queryTerms(first?.request ?? request, source),
    ...searchTerms(request, source),
  ]
  const selected = first === undefined ? rows : rows.filter(first.holds)
  const { filters, search, q, ...rest } = request
  return matchRows(terms.length === 0 ? selected : selected.filter(joined(terms)), rest, source)
}

function joined(terms: readonly Term[]): Holds {
  const alternatives: Holds[][] = [[]]
  for (const [at, { holds, or }] of terms.entries()) {
    alternatives.at(-1)?.push(holds)
    if (or && at < terms.length - 1) alternatives.push([])
  }
  return (row) => alternatives.some((all) => all.every((holds) => holds(row)))
}

/** Filters precede `q`. The alternatives of one filter are alternatives of the filter behind it too, if there is one. */
function filterTerms({ filters = {}, now }: CollectionRequest, source: DatabaseSource): Term[] {
  const terms = Object.entries(filters).flatMap(([name, value]): Term[] => {
    const filter = ownEntry(source.filters, name)
    if (filter !== undefined && filter.by !== 'equal')
      return [{ holds: toRowPredicate(compileFilter(name, value, source, now)), or: false }]
    const values = value.split(',')
    return values
      .filter((one) => one !== 'all')
      .map((one) => ({ holds: equalOrMissing(name, one, source, now), or: values.length > 1 }))
  })
  const last = terms.at(-1)
  return last === undefined ? [] : [...terms.slice(0, -1), { ...last, or: false }]
}

function equalOrMissing(name: string, value: string, source: DatabaseSource, now: Date): Holds {
  if (value === 'null') return (row) => fieldValue(row, name) === undefined
  return toRowPredicate(compileFilter(name, value, source, now))
}

/** Parentheses around the whole. */
const ONE_GROUP = /^\([^()]*\)$/

interface Unit {
  readonly query: Query
  readonly or: boolean
}

/** Returns the conditions and parentheses of `q` in their order. Throws CollectionError 1407. */
function unitsOf(q: string | undefined): Unit[] {
  if (q === undefined) return []
  const parsed = parseQuery(q, { characters: q.length, conditions: Number.POSITIVE_INFINITY })
  if (parsed === undefined) throw new CollectionError(1407)
  const alternatives = parsed.kind === 'any' && !ONE_GROUP.test(q) ? parsed.of : [parsed]
  const last = alternatives.at(-1)
  return alternatives.flatMap((one) => {
    const units = one.kind === 'all' ? one.of : [one]
    return units.map((query, at) => ({ query, or: one !== last && at === units.length - 1 }))
  })
}

/** A condition with the value `all` is left out. */
function queryTerms({ q, now }: CollectionRequest, source: DatabaseSource): Term[] {
  return unitsOf(q).map(({ query, or }) => ({ holds: holdsOf(query, source, now), or }))
}

function holdsOf(query: Query, source: DatabaseSource, now: Date): Holds {
  if (query.kind !== 'condition') {
    const parts = query.of.map((part) => holdsOf(part, source, now))
    return query.kind === 'all'
      ? (row) => parts.every((holds) => holds(row))
      : (row) => parts.some((holds) => holds(row))
  }
  const { field, value } = query
  const kind = ownEntry(source.fields, field)
  if (kind === 'day' && value !== 'null' && value !== 'all') return dayTest(query)
  // The operator of a comparison with `null` has no effect.
  const text = value === 'null' ? `${field}=null` : printQuery(query)
  const holds = toRowPredicate(compileConditions(text, source, now))
  // The manager itself has no times.
  return kind === 'date' ? (row) => row.id !== '000' && holds(row) : holds
}

/** Times are stored as numbers of seconds, and a day is its first second. */
function dayTest({ field, operator, value }: Extract<Query, { kind: 'condition' }>): Holds {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(value)) throw new CollectionError(1412)
  const day = secondsOf(value)
  return (row) => {
    const found = fieldValue(row, field)
    if (found === undefined) return false
    const order = secondsOf(String(found)) - day
    if (operator === '<') return order < 0
    if (operator === '>') return order > 0
    return (order === 0) === (operator !== '!=')
  }
}

function secondsOf(text: string): number {
  return Date.parse(`${text.replace(' ', 'T')}${text.includes(' ') ? 'Z' : 'T00:00:00Z'}`) / 1000
}

function searchTerms({ search }: CollectionRequest, source: DatabaseSource): Term[] {
  if (search === undefined) return []
  const holds = toRowPredicate(compileSearch(search, source))
  const times = Object.keys(source.fields).filter((field) => source.fields[field] === 'day')
  if (times.length === 0) return [{ holds, or: false }]
  const stored = (row: Row): Row => ({
    ...row,
    ...Object.fromEntries(
      times.filter((time) => row[time] !== undefined).map((time) => [time, secondsOf(String(row[time]))]),
    ),
  })
  return [{ holds: (row) => holds(stored(row)), or: false }]
}

/**
 * The status of an event of rootcheck selects the rows in front of all conditions. Only the first one counts, whatever its
 * operator is. Throws CollectionError 1603.
 */
function readStatusFirst(request: CollectionRequest, source: DatabaseSource) {
  const filter = ownEntry(source.filters, 'status')
  if (filter?.by !== 'equal' || filter.allowed === undefined) return undefined
  const { status: named, ...filters } = request.filters ?? {}
  const units = unitsOf(request.q)
  const inQuery = units.filter(({ query }) => query.kind === 'condition' && query.field === 'status')
  const [first] = inQuery
  const status = named ?? (first?.query.kind === 'condition' ? first.query.value : filter.matchAll)
  if (status !== filter.matchAll && !filter.allowed.values.includes(status ?? '')) throw new CollectionError(1603)
  const others = units.filter((unit) => !inQuery.includes(unit))
  const q = others
    .map(
      ({ query, or }, at) =>
        (query.kind === 'condition' ? printQuery(query) : `(${printQuery(query)})`) +
        (at === others.length - 1 ? '' : or ? ',' : ';'),
    )
    .join('')
  const { q: _, ...rest } = request
  return {
    holds: (row: Row) => status === filter.matchAll || row.status === status,
    or: named === undefined && first?.or === true,
    request: { ...rest, filters, ...(q !== '' && { q }) },
  }
}
