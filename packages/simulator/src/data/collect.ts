/** Pages of collections as the edge computes them (`collectInTurns`), at once. */
import { compileMatching } from '../../../../src/collections/collect.ts'
import { type CollectionPage, type CollectionRequest, parsePage } from '../../../../src/collections/request.ts'
import { compileProjection } from '../../../../src/collections/select.ts'
import type { Source } from '../../../../src/collections/sources.ts'
import type { Element, Row } from '../../../../src/collections/value.ts'

/**
 * Returns the requested page of `rows`, which must be in the natural order of the source and are not modified. Throws
 * CollectionError.
 *
 * @example collect(agents, parseCollectionRequest({ limit: '10', sort: '-id' }, now), sources.agents)
 */
export function collect(rows: readonly Row[], request: CollectionRequest, source: Source): CollectionPage<Row>
export function collect(rows: readonly string[], request: CollectionRequest, source: Source): CollectionPage<string>
export function collect(rows: readonly Element[], request: CollectionRequest, source: Source): CollectionPage
export function collect(rows: readonly Element[], request: CollectionRequest, source: Source): CollectionPage {
  const offsetFirst = source.engine === 'array' && source.offsetFirst === true
  const { offset, limit } = parsePage(request, source.maxLimit)
  const project = compileProjection(request.select, source)
  const matches = matchRows(offsetFirst ? rows.slice(offset) : rows, request, source)
  const start = offsetFirst ? 0 : offset
  const items = matches.slice(start, start + limit).map(project)
  return { items, totalItems: offsetFirst ? items.length : matches.length }
}

/** Returns all rows that match the request, sorted, but neither paged nor projected. */
export function matchRows<E extends Element>(rows: readonly E[], request: CollectionRequest, source: Source): E[] {
  const { pick, compare } = compileMatching(request, source, rows, (row: E) => row)
  const matches = rows.flatMap((row) => pick(row) ?? [])
  return matches.sort(compare).map(({ item }) => item)
}
