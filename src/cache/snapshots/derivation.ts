/** Decides which requests the edge can answer from all rows of their collection. */
import { type EdgeRead, nodeOf } from '../../core/request.ts'
import { isComputable } from '../../query/computable.ts'
import { type CollectionRequest, parseCollectionRequest } from '../../query/request.ts'
import { type Source, sources } from '../../query/sources.ts'
import { compilePolicy } from '../policy.ts'

export interface Derivation {
  readonly source: Source
  readonly collection: CollectionRequest
}

/** Parameters that leave the total of a collection as it is. */
const WITHOUT_FILTER: readonly string[] = ['offset', 'limit', 'sort', 'select']

/** The rows of all agents name their agent, and those of a node itself the node. */
const NAMED_IN_JOINED_ROWS = ['node_name', 'agent_id']

/** Returns the source of the rows of a snapshot; `undefined`: the collection of the request has none. */
export function snapshotSourceOf(request: EdgeRead): Source | undefined {
  if (nodeOf(request) !== undefined || request.waitForComplete) return undefined
  const policy = compilePolicy(request.endpoint)
  if (typeof policy === 'string' || policy.snapshot === undefined) return undefined
  const source: Source = sources[policy.snapshot]
  return policy.isJoined ? ({ ...source, alwaysSelected: NAMED_IN_JOINED_ROWS } as Source) : source
}

/** Returns how to compute the response of a request; `undefined`: only a node can answer it. */
export function derivationOf(request: EdgeRead, now: Date): Derivation | undefined {
  const source = snapshotSourceOf(request)
  if (source === undefined || request.extent === 'allRows') return undefined
  const { defaultSort } = source
  // Joined rows have the order of their nodes and agents, which is that of rows with equal sort fields.
  const joined = isJoined(request)
  const sort = joined && defaultSort !== undefined ? { sort: defaultSort } : undefined
  const collection = parseCollectionRequest({ ...sort, ...request.query }, now)
  // Nodes filter joined rows, and the edge sorts and selects them.
  const { sort: _, select: __, ...filtered } = collection
  return isComputable(joined ? filtered : collection, source) ? { source, collection } : undefined
}

function isJoined({ endpoint }: EdgeRead): boolean {
  const policy = compilePolicy(endpoint)
  return typeof policy !== 'string' && policy.isJoined
}

/** Whether a query selects all rows, so that the total of its response is that of the collection. */
export function selectsAllRows({ query }: EdgeRead): boolean {
  return Object.keys(query).every((name) => WITHOUT_FILTER.includes(name))
}
