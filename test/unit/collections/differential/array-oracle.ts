/** The engine for collections in memory as an oracle: plain functions over whole rows, one for each rule. */
import type { Collection } from '../../../support/engine/arrays.ts'
import { type Condition, type Expected, type Query, searchedText, type Tree } from './query.ts'

export type ArrayRow = Readonly<Record<string, unknown>>
export type Item = ArrayRow | string

export function answerOf(rows: readonly Item[], query: Query, collection: Collection): Expected {
  const { offset = 0, limit = 500 } = query
  const codes: number[] = []
  if (limit === 0) codes.push(1406)
  if (limit > 1000 && !collection.cutsFirst) codes.push(1405)
  if (query.select && !collection.selectable) codes.push(1000)
  else if (query.select?.some((field) => !collection.selectable?.includes(field))) codes.push(1724)
  // CDB lists are cut before they are searched and sorted, and count what is left.
  const given = collection.cutsFirst ? rows.slice(offset) : rows
  const sort = orderOf(given, query, collection, codes)
  const tests = query.filters.map(([name, value]) => filterOf(name, value, collection, codes))
  if (codes.length > 0) return { codes }
  const found = given.filter((row) => {
    const passes = tests.every((test) => test(row)) && (query.q === undefined || holds(query.q, row))
    return passes && (query.search === undefined || finds(query.search, row, collection))
  })
  const sorted = sort(found)
  const page = collection.cutsFirst ? sorted.slice(0, limit) : sorted.slice(offset, offset + limit)
  const items = page.map((row) => {
    if (query.select === undefined || typeof row === 'string') return row
    return Object.fromEntries(
      Object.entries(row).filter(([name, value]) => query.select?.includes(name) && value !== null),
    )
  })
  return { page: { items, totalItems: collection.cutsFirst ? items.length : found.length } }
}

function filterOf(
  name: string,
  value: string,
  { parameters = {} }: Collection,
  codes: number[],
): (row: Item) => boolean {
  const { field = name, values, code = 0, everything, range } = parameters[name] ?? {}
  if (everything !== undefined && value.split(',').includes(everything)) return () => true
  if (values && !values.includes(value)) codes.push(code)
  if (range) {
    const [, from, to = from] = /^(\d+)(?:-(\d+))?$/.exec(value) ?? []
    if (from === undefined) codes.push(code)
    return (row) => {
      const cell = member(row, field)
      const number = typeof cell === 'number' ? cell : isNumeric(cell) ? Number(cell) : Number.NaN
      return number >= Number(from) && number <= Number(to)
    }
  }
  return (row) => {
    const cell = member(row, field)
    if (cell === null) return false
    return Array.isArray(cell) ? cell.some((each) => printed(each) === value) : printed(cell) === value
  }
}

function holds(tree: Tree, row: Item): boolean {
  if (!('join' in tree)) return holdsCondition(tree, row)
  return tree.join === ';' ? tree.of.every((part) => holds(part, row)) : tree.of.some((part) => holds(part, row))
}

function holdsCondition({ field, operator, value }: Condition, row: Item): boolean {
  const cell = typeof row === 'object' && Object.hasOwn(row, field) ? row[field] : undefined
  if (cell === undefined || cell === null) return false
  const cells: readonly unknown[] = Array.isArray(cell) ? cell : [cell]
  const compared = (each: unknown): number => {
    if (typeof each !== 'number') return byCodePoints(printed(each), value)
    // Numbers come before texts.
    return isNumeric(value) ? each - Number(value) : -1
  }
  switch (operator) {
    case '=':
      return cells.some((each) => compared(each) === 0)
    case '!=':
      return cells.every((each) => compared(each) !== 0)
    case '<':
      return cells.some((each) => compared(each) < 0)
    case '>':
      return cells.some((each) => compared(each) > 0)
    case '~':
      return cells.some((each) => printed(each).startsWith(value))
  }
}

function finds(search: NonNullable<Query['search']>, row: Item, { searchable }: Collection): boolean {
  const wanted = searchedText(search).toLowerCase()
  const searched =
    typeof row === 'string' ? [row] : searchable ? searchable.map((field) => row[field]) : Object.values(row)
  return searched.some((value) => contains(value, wanted)) !== search.negated
}

function contains(value: unknown, wanted: string): boolean {
  if (value === null || value === undefined) return false
  if (typeof value === 'object') return Object.values(value).some((inner) => contains(inner, wanted))
  return `${value}`.toLowerCase().includes(wanted)
}

/** A sort that is asked for ignores case; that of requests without one does so except for catalogues of texts. */
function orderOf(
  rows: readonly Item[],
  { sort }: Query,
  { cells, order, descending, sortable }: Collection,
  codes: number[],
): (found: readonly Item[]) => Item[] {
  if (sort === undefined && order === undefined) return (found) => [...found]
  const named = sort?.fields ?? []
  if (named.length === 0 && order === undefined) codes.push(1404)
  const [first] = rows
  const known = sortable ?? (first === undefined ? named : typeof first === 'string' ? [] : Object.keys(first))
  if (named.some((field) => !known.includes(field))) codes.push(1403)
  const fields = named.length > 0 ? named : (order ?? [])
  const sign = (sort === undefined ? descending === true : sort.sign === '-') ? -1 : 1
  const ignoresCase = sort !== undefined || cells !== undefined
  return (found) =>
    [...found].sort((a, b) => {
      if (typeof a === 'string' || typeof b === 'string') return sign * byRank(a, b, ignoresCase)
      for (const field of fields) {
        const difference = byRank(member(a, field), member(b, field), ignoresCase)
        if (difference !== 0) return sign * difference
      }
      return 0
    })
}

/** Missing values, then numbers, then texts. */
function byRank(a: unknown, b: unknown, ignoresCase: boolean): number {
  const rank = (value: unknown) => (value === null || value === undefined ? 0 : typeof value === 'number' ? 1 : 2)
  if (rank(a) !== rank(b)) return rank(a) - rank(b)
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (rank(a) === 0) return 0
  return ignoresCase
    ? byCodePoints(printed(a).toLowerCase(), printed(b).toLowerCase())
    : byCodePoints(printed(a), printed(b))
}

function byCodePoints(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function member(row: Item, field: string): unknown {
  return typeof row === 'object' && Object.hasOwn(row, field) ? (row[field] ?? null) : null
}

function isNumeric(value: unknown): value is string {
  return typeof value === 'string' && /^ *-?\d+(\.\d+)? *$/.test(value)
}

function printed(value: unknown): string {
  if (Array.isArray(value)) return value.map(printed).join(',')
  return typeof value === 'object' ? JSON.stringify(value) : `${value}`
}
