/** Which requests the edge can answer from all rows of their collection, and from which ones. */
import { collectionContracts } from '../../collections/contracts.ts'
import { convertedSource, isComputableOfConverted } from '../../collections/in-front-of-v4.ts'
import type { CollectionRequest } from '../../collections/request.ts'
import type { Source } from '../../collections/sources.ts'
import type { NodeReads } from '../../core/node-call.ts'
import { type EdgeRead, onlyNodeOf } from '../../core/request.ts'
import type { CacheTarget } from '../key.ts'
import { type CompiledPolicy, compilePolicy } from '../policy.ts'

/** Whether a page can be cut only from all rows, so that it takes as many calls as the snapshot. */
export function needsAllRows({ isJoined }: CacheTarget['policy'], { joinsAgents }: NodeReads): boolean {
  return isJoined && !joinsAgents
}

export interface Derivation {
  readonly source: Source
  readonly collection: CollectionRequest
}

/** Parameters that leave the total of a collection as it is. */
const WITHOUT_FILTER: readonly string[] = ['offset', 'limit', 'sort', 'select']
/** The rows of all agents name their agent, and those of a node itself the node. */
const NAMED_IN_JOINED_ROWS = ['node_name', 'agent_id']

/** Returns the source of the rows of a collection; `undefined`: the edge computes none of them. */
export function rowSourceOf(request: EdgeRead, reads: NodeReads): Source | undefined {
  if (onlyNodeOf(request) !== undefined || request.waitForComplete) return undefined
  const policy = policyOf(request)
  if (policy?.rows === undefined) return undefined
  const source = withoutFields(collectionContracts[request.endpoint.contract].sources[policy.rows], reads.lostFields)
  if (policy.isJoined) return { ...source, alwaysSelected: NAMED_IN_JOINED_ROWS } as Source
  const converted = conversionOf(request, reads)
  return converted === undefined ? source : convertedSource(source, ...converted)
}

const sourcesWithoutFields = new WeakMap<Source, { readonly lost: NodeReads['lostFields']; readonly reduced: Source }>()

function withoutFields(source: Source, lost: NodeReads['lostFields']): Source {
  if (lost === undefined || source.engine !== 'database' || !Object.hasOwn(source.fields, 'node_name')) return source
  const known = sourcesWithoutFields.get(source)
  if (known?.lost === lost) return known.reduced
  const fields = Object.fromEntries(Object.entries(source.fields).filter(([name]) => !lost.has(name)))
  const reduced = { ...source, fields }
  sourcesWithoutFields.set(source, { lost, reduced })
  return reduced
}

/** Returns the rows that the edge converts from those of a node; `undefined`: it does not convert them. */
function conversionOf(request: EdgeRead, { convertsRows }: NodeReads) {
  const { endpoint } = request
  if (!convertsRows || endpoint.contract === 'v4' || endpoint.translation === undefined) return undefined
  const rows = policyOf(request)?.rows
  return rows && ([rows, endpoint.translation] as const)
}

/** Returns how to compute the response of a request; `undefined`: only a node can answer it. */
export function derivationOf(request: EdgeRead, now: Date, reads: NodeReads): Derivation | undefined {
  const source = rowSourceOf(request, reads)
  if (source === undefined || request.extent === 'allRows' || dependsOnRelease(request)) return undefined
  const { defaultSort } = source
  // Joined rows have the order of their nodes and agents, which is that of rows with equal sort fields.
  const joined = policyOf(request)?.isJoined === true
  const sort = joined && defaultSort !== undefined ? { sort: defaultSort } : undefined
  const { parse, isComputable } = collectionContracts[request.endpoint.contract]
  const collection = parse({ ...sort, ...request.query }, now)
  if (collection === undefined) return undefined
  // Nodes filter joined rows, and the edge sorts and selects them.
  const { sort: _, select: __, ...filtered } = collection
  if (!isComputable(joined ? filtered : collection, source)) return undefined
  const converted = conversionOf(request, reads)
  if (converted === undefined) return { source, collection }
  const { sort: ___, select: ____, ...asked } = request.query
  return isComputableOfConverted(joined ? asked : request.query, ...converted) ? { source, collection } : undefined
}

/** Nodes refuse a parameter that their release lacks yet, and the release may be unknown. */
function dependsOnRelease({ endpoint, query }: EdgeRead): boolean {
  return Object.keys(query).some((name) => endpoint.query[name]?.value?.releases?.since !== undefined)
}

function policyOf({ endpoint }: EdgeRead): CompiledPolicy | undefined {
  const policy = compilePolicy(endpoint)
  return typeof policy === 'string' ? undefined : policy
}

/** Whether a query selects all rows, so that the total of its response is that of the collection. */
export function selectsAllRows({ query }: EdgeRead): boolean {
  return Object.keys(query).every((name) => WITHOUT_FILTER.includes(name))
}
