/**
 * The pipeline of a collection request: filter, search and `q`, then sort, page, and select. It returns what the
 * manager returns, except where the manager is wrong: the order is total and stable, and pages are disjoint.
 */
import { selectFirst } from '../core/long-lists.ts'
import { compileConditions } from './condition.ts'
import { compileFilter, compileSearch } from './filter.ts'
import { compareSortValues, parseSorting, type SortValue, sortedValue } from './order.ts'
import { type Predicate, toRowPredicate } from './predicate.ts'
import { type CollectionPage, type CollectionRequest, parsePage } from './request.ts'
import { compileProjection } from './select.ts'
import type { Source } from './sources.ts'
import type { Element } from './value.ts'

/**
 * Returns the requested page of the rows of `items`, which must be in the natural order of the source and are not modified, in
 * turns of a few milliseconds. Its rows are new objects only where `select`, hidden fields or nesting change them. Throws
 * CollectionError before any item is read.
 */
export async function collectInTurns<Item>(
  items: readonly Item[],
  toRow: (item: Item) => Element,
  request: CollectionRequest,
  source: Source,
  maxLimit = source.maxLimit,
): Promise<CollectionPage> {
  const offsetFirst = source.engine === 'array' && source.offsetFirst === true
  const { offset, limit } = parsePage(request, maxLimit)
  const project = compileProjection(request.select, source)
  const skipped = offsetFirst ? offset : 0
  const rows = offsetFirst ? items.slice(offset) : items
  const { pick, compare } = compileMatching(request, source, rows.slice(0, 1).map(toRow), toRow)
  const { first, total } = await selectFirst(rows, pick, compare, offset - skipped + limit)
  const page = first.slice(offset - skipped).map(({ item }) => project(toRow(item)))
  return { items: page, totalItems: offsetFirst ? page.length : total }
}

/** An item whose row matches, with the values that it is sorted by, computed once. */
export interface Match<Item> {
  readonly item: Item
  readonly by: readonly SortValue[]
}

export interface Matching<Item> {
  /** Returns undefined for an item whose row does not match. */
  readonly pick: (item: Item) => Match<Item> | undefined
  /** Without a sorting, all matches are equal. */
  readonly compare: (a: Match<Item>, b: Match<Item>) => number
}

/** `first`: the first of the rows, or none. Throws CollectionError. */
export function compileMatching<Item>(
  request: CollectionRequest,
  source: Source,
  first: readonly Element[],
  toRow: (item: Item) => Element,
): Matching<Item> {
  const predicates = compilePredicates(request, source).map(toRowPredicate)
  const { sign, fields } = parseSorting(request.sort, source, first) ?? { sign: 1, fields: [] }
  return {
    pick: (item) => {
      const row = toRow(item)
      if (!predicates.every((test) => test(row))) return undefined
      return { item, by: fields.map(({ field, toSortValue }) => toSortValue(sortedValue(row, field))) }
    },
    compare: (a, b) => {
      for (let at = 0; at < fields.length; at += 1) {
        const order = compareSortValues(a.by[at], b.by[at])
        if (order !== 0) return sign * order
      }
      return 0
    },
  }
}

/** Returns what a row must satisfy altogether. Throws CollectionError. */
export function compilePredicates(request: CollectionRequest, source: Source): Predicate[] {
  const predicates = Object.entries(request.filters ?? {}).map(([name, value]) =>
    compileFilter(name, value, source, request.now),
  )
  if (request.search !== undefined) predicates.push(compileSearch(request.search, source))
  if (request.q !== undefined) predicates.push(compileConditions(request.q, source, request.now))
  return predicates
}
