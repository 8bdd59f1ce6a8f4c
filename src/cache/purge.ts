/**
 * Purges by operators: of everything, a group, an endpoint, a tag, or named keys; what a purge would cost; and the purge
 * itself. The response of a key may be computed from a snapshot of its collection, so a purge of keys includes the snapshots.
 */

import type { Endpoint } from '../contracts/endpoint.ts'
import { bothContracts } from '../contracts/index.ts'
import type { IndexEntry, PurgeCost, PurgeOutcome, PurgeScope } from '../core/cache-entries.ts'
import type { CacheIndex } from '../core/cache-index.ts'
import { nameOf, parseName } from '../core/endpoint-names.ts'
import { EdgeError } from '../core/errors.ts'
import type { CacheEvent, InvalidationCause, Log } from '../core/events.ts'
import { inTurns } from '../core/long-lists.ts'
import type { Caller, EdgeRequest } from '../core/request.ts'
import { type ExplainPorts, snapshotKeyOf } from './explain.ts'
import { type LifetimesOf, staleTimesOf } from './lifetimes.ts'
import { type CompiledPolicy, compilePolicy } from './policy.ts'
import { endpointTag } from './stores/epochs.ts'
import { staleBound } from './stores/local-entries.ts'
import { patternOf } from './tags.ts'

export interface PurgePorts {
  readonly index: CacheIndex
  readonly lifetimesOf: LifetimesOf
  /** Receives one event for each purge. */
  readonly onEvent?: (event: CacheEvent) => void
  /** Absent if the cache is off. */
  readonly explained?: ExplainPorts
}

/** The policies of all endpoints whose responses may be stored, by name. */
export const policyByName: ReadonlyMap<string, CompiledPolicy> = new Map(
  bothContracts.flatMap((endpoint) => {
    const policy = compilePolicy(endpoint)
    return typeof policy === 'string' ? [] : [[policy.name, policy] as const]
  }),
)
const groups: ReadonlySet<string> = new Set([...policyByName.values()].map(({ group }) => group))
/** The form of keys: a SHA-256 digest in base64url. */
const KEY = /^[A-Za-z0-9_-]{43}$/

/**
 * Returns what a request to purge names. A path without a prefix is one of the contract of the request. Throws 604 for more
 * than one name, an unknown endpoint, or an impossible tag.
 */
export function purgeScopeOf(request: Pick<EdgeRequest, 'endpoint' | 'params' | 'query'>): PurgeScope {
  const { params, query } = request
  const { key, tag } = query
  const endpoint = query.endpoint && nameOf(parseName(query.endpoint, request.endpoint.contract))
  const soft = query.soft === 'true'
  if (params.group !== undefined) return { group: params.group.toLowerCase(), soft }
  if ([key, endpoint, tag].filter((name) => name !== undefined).length > 1) {
    throw new EdgeError(604, '. Give only one of key, endpoint and tag')
  }
  if (endpoint !== undefined && !policyByName.has(endpoint)) {
    throw new EdgeError(604, '. No response of this endpoint is stored: see the details of GET /cache')
  }
  if (tag !== undefined && !readTag.test(tag)) {
    throw new EdgeError(604, '. No stored response can have this tag: see the details of GET /cache')
  }
  if (key !== undefined) return { keys: key.split(','), soft }
  return { ...(endpoint !== undefined && { endpoint }), ...(tag !== undefined && { tag }), soft }
}

/** Returns the stored responses that a purge would remove now. */
export async function listPurged(ports: PurgePorts, scope: PurgeScope, caller: Caller): Promise<readonly IndexEntry[]> {
  const { group, endpoint, tag, keys } = scope
  if (keys !== undefined) {
    const found = (await Promise.all(keys.map((key) => ports.index.find(key)))).filter((entry) => entry !== undefined)
    return withSnapshots(ports, found, caller)
  }
  if (endpoint !== undefined) {
    const listed = await ports.index.list(policyByName.get(endpoint)?.group)
    return listed.filter((entry) => entry.endpoint === endpoint)
  }
  const listed = await ports.index.list(group)
  return tag === undefined ? listed : listed.filter(({ tags }) => tags.includes(tag))
}

/** Returns the entries behind the snapshots from which their responses would be computed again, as they were before. */
async function withSnapshots(
  { index, explained }: PurgePorts,
  entries: readonly IndexEntry[],
  caller: Caller,
): Promise<readonly IndexEntry[]> {
  if (explained === undefined) return entries
  const named = new Set(entries.map(({ key }) => key))
  const snapshotKeys = new Set<string>()
  for await (const part of inTurns(entries)) {
    const keys = await Promise.all(part.map(({ url }) => snapshotKeyOf(explained, url, caller)))
    for (const key of keys) if (key !== undefined && !named.has(key)) snapshotKeys.add(key)
  }
  const snapshots = await Promise.all([...snapshotKeys].map((key) => index.find(key)))
  return [...snapshots.filter((entry) => entry !== undefined), ...entries]
}

/** A scope that no response can have purges nothing: each purge leaves an epoch in the store. */
export async function purge(ports: PurgePorts, scope: PurgeScope, caller: Caller): Promise<PurgeOutcome> {
  const { index, onEvent } = ports
  if (scope.group !== undefined && !groups.has(scope.group)) return 'done'
  const keys = scope.keys?.filter((key) => KEY.test(key))
  if (keys?.length === 0) return 'done'
  const { keys: _, ...others } = scope
  const outcome = await index.purge(
    keys === undefined ? others : { ...others, keys: await keysOf(ports, keys, caller) },
  )
  onEvent?.({ kind: 'invalidated', cause: causeOf(scope) })
  return outcome
}

/** First the snapshots: a request in between would compute the responses from them again. */
async function keysOf(ports: PurgePorts, keys: readonly string[], caller: Caller): Promise<readonly string[]> {
  const listed = await listPurged(ports, { keys }, caller)
  return [...new Set([...listed.map(({ key }) => key), ...keys])]
}

/** Sums up entries, in turns of the event loop: there may be a hundred thousand. */
export async function purgeCostOf(entries: readonly IndexEntry[], lifetimesOf: LifetimesOf): Promise<PurgeCost> {
  const sum = { bytes: 0, fetchTime: 0, neverStale: 0 }
  const stale = new Map<string, boolean>()
  for await (const part of inTurns(entries)) {
    for (const { endpoint, size, fetchTime } of part) {
      sum.bytes += size
      sum.fetchTime += fetchTime
      const isStale = stale.get(endpoint) ?? mayBeStale(endpoint, lifetimesOf)
      stale.set(endpoint, isStale)
      if (!isStale) sum.neverStale += 1
    }
  }
  const { bytes, fetchTime, neverStale } = sum
  const seconds = Math.round(fetchTime) / 1000
  return { entries: entries.length, bytes, seconds, neverStale: { entries: neverStale } }
}

/** Whether a response is served once more after a soft purge. */
function mayBeStale(endpoint: string, lifetimesOf: LifetimesOf): boolean {
  const policy = policyByName.get(endpoint)
  return policy !== undefined && staleBound(staleTimesOf(policy, lifetimesOf(policy.group, endpoint), 0)) > 0
}

function causeOf({ keys, group, endpoint, tag, soft }: PurgeScope): InvalidationCause {
  if (soft) return 'softPurge'
  if (keys !== undefined) return 'purgeKey'
  if (tag !== undefined) return 'purgeTag'
  if (endpoint !== undefined) return 'purgeEndpoint'
  return group === undefined ? 'purgeAll' : 'purgeGroup'
}

/**
 * A node with another layout was upgraded or replaced, so nothing that is stored may describe it any more. Everything is
 * purged, on all replicas: responses of many nodes contain those of one, and such a change is rare. `before`: its layout
 * before; absent: it was not known.
 */
export function purgeAfterLayoutChange(
  { node, before }: { readonly node: string; readonly before?: string | undefined },
  index: Pick<CacheIndex, 'purge'>,
  log: Log,
): void {
  if (before === undefined) return
  void index.purge({})
  log('info', 'stored responses discarded: the layout of a node changed', { node })
}

/** The tags that a stored response can have: those that the records of cacheable reads name, with any values. */
const readTag = new RegExp(`^(?:${[...new Set(bothContracts.flatMap(patternsOf))].join('|')})$`)

/** A placeholder matches any value, `*` included: each family has a tag for all of its values. */
function patternsOf(record: Endpoint): readonly string[] {
  const policy = compilePolicy(record)
  if (typeof policy === 'string' || !('cache' in record) || 'never' in record.cache) return []
  const named = ['cache', `cache:${policy.group}`, endpointTag(policy.name), ...record.cache.tags, 'node:{path}']
  return named.map((tag) => patternOf(tag, '.+'))
}
