/** The pipeline of a collection request for many rows: as `collect`, but in turns of a few milliseconds. */
import { type Compare, selectFirst } from '../core/in-turns.ts'
import { compileRowPredicates } from '../query/collect.ts'
import { parseSorting, type Sorting, sortedValue } from '../query/order.ts'
import { type CollectionPage, type CollectionRequest, parsePage } from '../query/request.ts'
import { compileProjection } from '../query/select.ts'
import type { ArraySource, DatabaseSource } from '../query/sources.ts'
import { compareSortValues, type Row, type SortValue } from '../query/value.ts'

/** An item whose row matches, with the values that it is sorted by, computed once. Its row is not stored. */
interface Match<Item> {
  readonly item: Item
  readonly by: readonly SortValue[]
}

/** Returns what `collect` returns for the rows of the items. Throws CollectionError before any item is read. */
export async function collectInTurns<Item>(
  items: readonly Item[],
  toRow: (item: Item) => Row,
  request: CollectionRequest,
  source: DatabaseSource | Omit<ArraySource, 'offsetFirst'>,
): Promise<CollectionPage> {
  const { offset, limit } = parsePage(request)
  const project = compileProjection(request.select, source)
  const predicates = compileRowPredicates(request, source)
  const sorting = parseSorting(request.sort, source, items.slice(0, 1).map(toRow))
  const pick = (item: Item): Match<Item> | undefined => {
    const row = toRow(item)
    if (!predicates.every((test) => test(row))) return undefined
    return { item, by: sorting?.fields.map(({ field, toSortValue }) => toSortValue(sortedValue(row, field))) ?? [] }
  }
  const { first, total } = await selectFirst(items, pick, comparatorOf(sorting), offset + limit)
  return { items: first.slice(offset).map(({ item }) => project(toRow(item))), totalItems: total }
}

/** Without a sorting, all rows are equal and keep their order. */
function comparatorOf(sorting: Sorting | undefined): Compare<Match<unknown>> {
  const { sign, fields } = sorting ?? { sign: 1, fields: [] }
  return (a, b) => {
    for (let at = 0; at < fields.length; at += 1) {
      const order = compareSortValues(a.by[at], b.by[at])
      if (order !== 0) return sign * order
    }
    return 0
  }
}
