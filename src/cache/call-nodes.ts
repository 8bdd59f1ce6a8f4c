/** One call to the nodes, and storing its response under the epochs that were valid before the call. */

import type { CacheIndex } from '../core/cache-index.ts'
import { errorNumberOf, etagOf, reportedNodeFailure } from '../core/envelope.ts'
import type { CacheEvent } from '../core/events.ts'
import { AbandonedError } from '../core/presence.ts'
import type { EdgeRead, Handler, LateAnswer } from '../core/request.ts'
import { type CacheableResponse, isProblem, PROBLEM_TYPE, partsOf, type ReadResponse } from '../core/response.ts'
import { type AgedResponse, type Lookup, StoredForms, type StoredRead } from '../core/stored-response.ts'
import { type TimeLimits, withTimeout } from '../core/timing.ts'
import type { CacheTarget, ResolveTarget } from './key.ts'
import type { LateFetches } from './late-fetches.ts'
import { type FreshnessLifetimes, type LifetimesOf, staleRuleOf, staleTimesOf } from './lifetimes.ts'
import type { ReplicationLag } from './replication-lag.ts'
import { isStorable } from './storable.ts'
import type { CacheStore } from './stores/contract.ts'
import { epochsText } from './stores/epochs.ts'
import type { StaleTimes } from './stores/local-entries.ts'

/** What the parts of the cache share. */
export interface CachePorts {
  readonly store: CacheStore & Pick<CacheIndex, 'peek'>
  readonly resolveTarget: ResolveTarget
  readonly lifetimesOf: LifetimesOf
  readonly replicationLag: ReplicationLag
  readonly limits: () => TimeLimits
  readonly isOnlyReplica: () => boolean
  /** Whether the nodes have capacity for a call that no client waits for. */
  readonly hasIdleCapacity: (request: EdgeRead) => boolean
  /** Returns the milliseconds until the limits of the node that would be called permit one more read, after `others`. */
  readonly waitForRead: (request: EdgeRead, others: number) => number
  /** Returns the node that would be called first; `undefined`: it is not known before the call. */
  readonly firstNode: (request: EdgeRead) => string | undefined
  readonly lateFetches: LateFetches
  /** Returns the milliseconds until a node that answers none is asked again; `undefined`: a node answers. Absent: no outage mode. */
  readonly outageFor?: () => number | undefined
  /** Milliseconds, monotonic. */
  readonly clock: () => number
  readonly onEvent: (event: CacheEvent) => void
  /** Each request makes its own call to the nodes, because a shared one may have begun before the request. */
  readonly neverCollapses?: true
}

/** One read: the request, its place in the cache, and the result of the lookup when the request came in. */
export interface ReadContext {
  readonly request: EdgeRead
  readonly target: CacheTarget
  readonly lookup: Lookup
}

/** How a fetch ended. `collapsed`: another request caused the call to the nodes. */
export type FetchResult = { readonly collapsed?: true } & (
  | {
      /** A success that the cache and clients may store. It is not stored if it is stale, because a part of it is. */
      readonly kind: 'cacheable'
      readonly response: CacheableResponse
      readonly entry: AgedResponse
      /** The store confirmed that it has the response. */
      readonly stored?: true
    }
  /** `uncacheable`: a success that may not be stored. `refused`: an error of the manager, which its nodes did not cause. */
  | { readonly kind: 'uncacheable' | 'refused'; readonly response: ReadResponse }
  /** The response reports that nodes failed. */
  | { readonly kind: 'failed'; readonly response: ReadResponse; readonly code: number }
)

interface Fetched {
  readonly result: FetchResult
  /** Resolves when the store has processed the response; `done`: it has. Absent: it is not stored. */
  readonly storing?: Promise<void> | 'done'
}

/** A response waits at most this long to be stored, so that the next request finds it. */
const MAX_STORING_WAIT_MS = 50

/**
 * Calls the nodes. The response is stored under the epochs of `lookup`, which was made before the call: if a write
 * changes them meanwhile, the stored response is never served. `onSent`: as of a `NewEntry`. Its age is counted from the start of the call, because
 * the data may be that old. It is fresh for the TTL after its arrival, less the age that it arrived with (RFC 9111 section
 * 4.2.3), and a joined response not longer than its parts.
 */
export async function callNodes(
  ports: CachePorts,
  next: Handler<EdgeRead, ReadResponse>,
  context: ReadContext,
  lookup: Lookup,
  onSent?: () => void,
): Promise<Fetched> {
  const { group } = context.target.policy
  const started = ports.clock()
  // Without Redis, a response is stored for this replica alone. A write of another one has changed the epochs in Redis.
  const known = lookup.kind === 'unavailable' ? lookUpWithoutRedis(ports, context) : undefined
  const before = known ?? lookup
  const emit = (outcome: 'stored' | 'notStorable' | 'failed') =>
    ports.onEvent({ kind: 'fetch', group, outcome, ms: ports.clock() - started })
  const late: LateAnswer = { calls: [] }
  const request = nodeRequest(ports, context, lookup, late)
  let response: ReadResponse
  try {
    response = await next(request)
  } catch (fault) {
    if (!(fault instanceof AbandonedError)) emit('failed')
    const answerLate = () => next({ ...request, deadline: Number.POSITIVE_INFINITY })
    void storeLate(ports, context, { lookup: before, late, started, answerLate }).catch(() => undefined)
    throw fault
  }
  const fetchTime = ports.clock() - started
  const isLocal = known !== undefined
  const fetched = await storeResponse(ports, context, { lookup: before, response, fetchTime, isLocal, onSent })
  emit(fetched.storing === undefined ? 'notStorable' : 'stored')
  return fetched
}

interface LateFetch {
  readonly lookup: Lookup
  readonly late: LateAnswer
  readonly started: number
  /** Makes the response of the call that was late. */
  readonly answerLate: () => ReadResponse | Promise<ReadResponse>
}

/** Stores the response of a call that timed out when it comes, unless a write has begun, or a later fetch was stored. */
async function storeLate(
  ports: CachePorts,
  context: ReadContext,
  { lookup, late, started, answerLate }: LateFetch,
): Promise<void> {
  // The rows of a snapshot come with many calls.
  if (context.request.extent === 'allRows' || !(await late.late?.result)?.ok) return
  const response = await answerLate()
  const fetchTime = ports.clock() - started
  const shared = await ports.store.lookup(context.target.key, context.target.tags)
  const isLocal = shared.kind === 'unavailable'
  const now = isLocal ? lookUpWithoutRedis(ports, context) : shared
  if (now === undefined || epochsText(now) !== epochsText(lookup) || (now.kind === 'hit' && now.age < fetchTime)) return
  await storeResponse(ports, context, { lookup, response, fetchTime, isLocal })
}

/** A response, the lookup that was made before it was fetched, and the milliseconds that its fetch took. */
interface NewResponse {
  readonly lookup: Lookup
  readonly response: ReadResponse
  readonly fetchTime: number
  /** It is stored for this replica alone. Absent: for all. */
  readonly isLocal?: boolean
  /** As of a `NewEntry`. */
  readonly onSent?: (() => void) | undefined
}

/** Stores a response if it may be stored, under the epochs of the lookup. */
export async function storeResponse(
  ports: CachePorts,
  context: ReadContext,
  { lookup, response, fetchTime, isLocal = false, onSent }: NewResponse,
): Promise<Fetched> {
  const { policy, key, tags, info } = context.target
  const epochs = lookup.kind === 'unavailable' || lookup.epochs.fenced ? undefined : lookup.epochs
  const isComputed = response.kind === 'envelope' && response.origin.kind === 'computed'
  if ((epochs === undefined && !isComputed) || !isStorable(response)) return { result: unstoredResult(response) }
  const { clusterStatus, oldestPartAge: initialAge, partsFreshFor } = partsOf(response.origin)
  const lifetimes = lifetimesOf(ports, context)
  // Without parts that were stored here, the age is that of a cache in front of the node.
  const isOfNodes = partsFreshFor === Number.POSITIVE_INFINITY
  const freshFor = isOfNodes ? lifetimes.ttl - initialAge : Math.min(lifetimes.ttl, partsFreshFor)
  const age = fetchTime + initialAge
  const stale = { stale: staleRuleOf(policy, errorNumberOf(response)) }
  const times = staleTimesOf(stale, lifetimes, fetchTime)
  const stored = await storedOf(response, { ...times, ttl: age + freshFor, fetchTime, clusterStatus })
  const result = { kind: 'cacheable', response, entry: { response: stored, age } } as const
  if (epochs === undefined || freshFor <= 0) return { result }
  const entry = { key, tags, epochs, stored, initialAge, info, isLocal }
  return { result, storing: ports.store.store(onSent === undefined ? entry : { ...entry, onSent }) ?? 'done' }
}

type ReadTimes = StaleTimes & Pick<StoredRead, 'ttl' | 'fetchTime' | 'clusterStatus'>

/** Written out: to spread the times of each response takes several times its memory. */
async function storedOf(response: CacheableResponse, times: ReadTimes): Promise<StoredRead> {
  const { body } = response
  if (response.kind === 'snapshot') return { ...times, kind: response.kind, body, rowBytes: response.origin.rowBytes }
  return {
    kind: 'response',
    status: response.status,
    errorNumber: response.errorNumber,
    contentType: isProblem(response) ? PROBLEM_TYPE : '',
    body,
    etag: await etagOf(body),
    forms: new StoredForms(),
    ttl: times.ttl,
    staleWhileRevalidate: times.staleWhileRevalidate,
    staleIfError: times.staleIfError,
    staleInOutage: times.staleInOutage,
    staleWithoutRedis: times.staleWithoutRedis,
    staleWhileHot: times.staleWhileHot,
    fetchTime: times.fetchTime,
    clusterStatus: times.clusterStatus,
  }
}

function unstoredResult(response: ReadResponse): FetchResult {
  const code = reportedNodeFailure(response)
  if (code !== undefined) return { kind: 'failed', response, code }
  return { kind: errorNumberOf(response) === 0 ? 'uncacheable' : 'refused', response }
}

/** Returns the lifetimes of the endpoint of a read, in whichever contract it is. */
export function lifetimesOf(ports: Pick<CachePorts, 'lifetimesOf'>, { target }: ReadContext): FreshnessLifetimes {
  return ports.lifetimesOf(target.policy.group, target.policy.name)
}

/** Whether responses of the local tier are served while Redis is unreachable. */
export function servesWithoutRedis(ports: CachePorts, context: ReadContext): boolean {
  return ports.isOnlyReplica() || lifetimesOf(ports, context).withoutRedis !== undefined
}

/** Returns what the local tier has of a response, if it is served while Redis is unreachable. */
export function lookUpWithoutRedis(ports: CachePorts, context: ReadContext): Lookup | undefined {
  const { key, tags } = context.target
  return servesWithoutRedis(ports, context) ? ports.store.lookupWithoutRedis?.(key, tags) : undefined
}

function nodeRequest(ports: CachePorts, context: ReadContext, lookup: Lookup, late: LateAnswer): EdgeRead {
  const { request, target, lookup: first } = context
  const { policy, tags } = target
  const copies = policy.isReplicated ? ports.replicationLag.stateOf(tags, lookup) : request.copies
  if (first.kind !== 'hit' || request.reuse === 'noCache') return { ...request, copies, late }
  const { age, response } = first
  // Stored parts that arrived before the stored response would give the same response again, and parts that are about to
  // expire a response that is about to expire.
  const arrivedWithin = Math.min(age - response.fetchTime, lifetimesOf(ports, context).ttl / 2)
  return { ...request, copies, late, reuse: { arrivedWithin } }
}

/** Waits a short time for the store, so that a slow store does not delay the response. */
export function awaitStore({ result, storing }: Fetched): FetchResult | Promise<FetchResult> {
  if (storing === undefined) return result
  const stored = { ...result, stored: true as const }
  return storing === 'done'
    ? stored
    : withTimeout(
        storing.then(() => stored),
        MAX_STORING_WAIT_MS,
        result,
      )
}

/** Returns the milliseconds within which a stored response must have arrived; `undefined`: it may also be stale. */
export function arrivalLimitOf({ reuse }: EdgeRead): number | undefined {
  return typeof reuse === 'object' ? reuse.arrivedWithin : undefined
}
