/** Decides which requests the edge can answer from all rows of their collection. */
import type { EdgeRequest } from '../../core/request.ts'
import { ownEntry } from '../../core/values.ts'
import { type CollectionRequest, parseCollectionRequest } from '../../query/request.ts'
import { type ArraySource, type DatabaseSource, type Source, sources } from '../../query/sources.ts'
import { compilePolicy } from '../policy.ts'

/** A source whose totals count its rows. */
export type SnapshotSource = DatabaseSource | Omit<ArraySource, 'offsetFirst'>

export interface Derivation {
  readonly source: SnapshotSource
  readonly collection: CollectionRequest
}

/** Parameters that every collection has; the first ones leave its total as it is. */
const WITHOUT_FILTER: readonly string[] = ['offset', 'limit', 'sort', 'select']
const COMMON: readonly string[] = [...WITHOUT_FILTER, 'search', 'q']

/** Returns the source of the rows of a snapshot; `undefined`: the collection of the request has none. */
export function snapshotSourceOf({ endpoint, node, waitForComplete }: EdgeRequest): SnapshotSource | undefined {
  if (node !== undefined || waitForComplete) return undefined
  const policy = compilePolicy(endpoint)
  return typeof policy === 'string' || policy.snapshot === undefined ? undefined : sources[policy.snapshot]
}

/** Returns how to compute the response of a request; `undefined`: only a node can answer it. */
export function derivationOf(request: EdgeRequest, now: Date): Derivation | undefined {
  const source = snapshotSourceOf(request)
  if (source === undefined || request.snapshot || !Object.keys(request.query).every((name) => isKnown(name, source))) {
    return undefined
  }
  const collection = parseCollectionRequest(request.query, now)
  return isComputable(collection, source) ? { source, collection } : undefined
}

function isKnown(name: string, source: Source): boolean {
  if (COMMON.includes(name)) return true
  if (ownEntry(source.filters, name) !== undefined) return true
  return source.engine === 'database' ? Object.hasOwn(source.fields, name) : source.sortable?.includes(name) === true
}

/**
 * A search of a database also finds fields that are never returned, and the fields of an array are those of a row that
 * only the node knows to be its first one. `q` on arrays differs from the manager on purpose (docs/collection-choices.md).
 */
function isComputable({ search, sort, q, select }: CollectionRequest, source: Source): boolean {
  if (source.engine === 'database') return search === undefined || (source.hidden ?? []).length === 0
  const sortsByField = sort !== undefined && sort.replace(/^[+ -]/, '').trim() !== ''
  return q === undefined && select === undefined && (!sortsByField || source.sortable !== undefined)
}

/** Whether a query selects all rows, so that the total of its response is that of the collection. */
export function selectsAllRows({ query }: EdgeRequest): boolean {
  return Object.keys(query).every((name) => WITHOUT_FILTER.includes(name))
}
