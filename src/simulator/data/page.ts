import { collect } from '../../query/collect.ts'
import type { Collected } from '../../query/request.ts'
import { readRequest } from '../../query/request.ts'
import type { Source } from '../../query/sources.ts'
import type { Element } from '../../query/value.ts'
import type { SimRequest } from '../model.ts'
/** Collections out of made-up rows: what a request asks for, over a source of the real system. */

/** `{items, totalItems}`; `query` stands in where a parameter of the request is no part of the collection. */
export function pageOf(
  rows: readonly Element[],
  { world, query: asked }: SimRequest,
  source: Source,
  query = asked,
): Collected {
  return collect(rows, readRequest(query, world.now()), source)
}
