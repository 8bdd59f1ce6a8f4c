import { parseSort } from '../../../../src/collections/order.ts'
import { CollectionError, type CollectionPage, parseCollectionRequest } from '../../../../src/collections/request.ts'
import { type ArraySource, type DatabaseSource, sources } from '../../../../src/collections/sources.ts'
import type { Element, Row } from '../../../../src/collections/value.ts'
import type { SimRequest } from '../model.ts'
import { collect } from './collect.ts'
import { pageOfTable, type TableOptions } from './tables.ts'
/** Builds collections from generated rows, with the query semantics of the real system. */

/**
 * Returns `{items, totalItems}`. `query` replaces the request's query if a parameter does not apply to the collection.
 */
export function pageOf(
  rows: readonly Element[],
  { world, query: asked }: SimRequest,
  source: ArraySource,
  query = asked,
): CollectionPage {
  // A sort needs a field, except of texts and of logs.
  const isSign = query.sort !== undefined && parseSort(query.sort).fields.length === 0
  if (isSign && source.sortable !== undefined && source.defaultSort !== sources.logs.defaultSort)
    throw new CollectionError(1404)
  return collect(rows, parseCollectionRequest(query, world.now()), source)
}

/** Returns a page of the database of an agent. */
export function tableOf(
  rows: readonly Row[],
  { world, query: asked }: SimRequest,
  source: DatabaseSource,
  { query = asked, ...options }: TableOptions & { readonly query?: SimRequest['query'] } = { inParts: true },
): CollectionPage<Row> {
  return pageOfTable(rows, query, world.now(), source, options)
}
