/** The pipeline of a collection request for many rows: as `collect`, but in turns of a few milliseconds. */
import { selectFirst } from '../core/in-turns.ts'
import { compileMatching } from '../query/collect.ts'
import { type CollectionPage, type CollectionRequest, parsePage } from '../query/request.ts'
import { compileProjection } from '../query/select.ts'
import type { ArraySource, DatabaseSource } from '../query/sources.ts'
import type { Row } from '../query/value.ts'

/** Returns what `collect` returns for the rows of the items. Throws CollectionError before any item is read. */
export async function collectInTurns<Item>(
  items: readonly Item[],
  toRow: (item: Item) => Row,
  request: CollectionRequest,
  source: DatabaseSource | Omit<ArraySource, 'offsetFirst'>,
): Promise<CollectionPage> {
  const { offset, limit } = parsePage(request)
  const project = compileProjection(request.select, source)
  const { pick, compare } = compileMatching(request, source, items.slice(0, 1).map(toRow), toRow)
  const { first, total } = await selectFirst(items, pick, compare, offset + limit)
  return { items: first.slice(offset).map(({ item }) => project(toRow(item))), totalItems: total }
}
