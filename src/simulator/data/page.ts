import { collect } from '../../query/collect.ts'
import type { CollectionPage } from '../../query/request.ts'
import { parseCollectionRequest } from '../../query/request.ts'
import type { Source } from '../../query/sources.ts'
import type { Element } from '../../query/value.ts'
import type { SimRequest } from '../model.ts'
/** Builds collections from generated rows, with the query semantics of the real system. */

/**
 * Returns `{items, totalItems}`. `query` replaces the request's query if a parameter does not apply to the collection.
 */
export function pageOf(
  rows: readonly Element[],
  { world, query: asked }: SimRequest,
  source: Source,
  query = asked,
): CollectionPage {
  return collect(rows, parseCollectionRequest(query, world.now()), source)
}
