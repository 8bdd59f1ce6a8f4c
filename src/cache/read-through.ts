/** The stage around reads: serves stored responses, fetches the others, and refreshes much-used ones ahead of expiry. */
import { type CacheStatus, isStaleIfError } from '../core/cache.ts'
import { isNodeFailure } from '../core/envelope.ts'
import {
  arrivalLimitOf,
  type EdgeRead,
  type Handler,
  NO_COST,
  type RequestClient,
  type Stage,
} from '../core/request.ts'
import {
  type AgedResponse,
  type EdgeResponse,
  type EnvelopeResponse,
  envelopeOfStored,
  type Hit,
  type Lookup,
  type StoredOrigin,
} from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import { type CachePorts, type FetchResult, lifetimesOf, type ReadContext } from './call-nodes.ts'
import { createDivergenceCheck, type DivergenceCheck } from './compare-responses.ts'
import { createFetcher, type Fetcher, lateAfter } from './fetch.ts'
import { EVERYONE } from './key.ts'
import { automaticStale, staleRuleOf } from './policy.ts'
import { createRefreshAhead, type RefreshAhead, type RefreshAheadOptions } from './refresh-ahead.ts'
import type { SnapshotPorts } from './snapshots/build.ts'
import { createSnapshots } from './snapshots/stage.ts'

export interface ReadThroughPorts extends CachePorts {
  readonly refreshAhead: RefreshAheadOptions
  /** Whether the node that would be called is known not to answer at all. */
  readonly isSilent: (request: EdgeRead) => boolean
  /** Absent: hits are not verified, because a trial compares each of them. */
  readonly divergenceSettings?: Parameters<typeof createDivergenceCheck>[0]
  readonly snapshots: Pick<SnapshotPorts, 'snapshots' | 'rows' | 'nodeReads'>
}

/** The parts behind the lookup. */
interface ReadPath {
  readonly ports: ReadThroughPorts
  readonly fetcher: Fetcher
  readonly refreshAhead: RefreshAhead
  readonly divergenceCheck: DivergenceCheck | undefined
}

/**
 * Responses that may be stored carry `cached`. A hit from the local tier is returned synchronously. Rejects as `next`
 * does, unless a stale response may be served instead.
 */
export function readThrough(ports: ReadThroughPorts): Stage<EdgeRead> {
  return (next) => {
    const source = createSnapshots({ ...ports, ...ports.snapshots }, next, (request) => read(request))
    const fetcher = createFetcher(ports, next, source)
    const refreshAhead = createRefreshAhead(ports.refreshAhead, { ...ports, refresh: fetcher.refresh })
    const divergenceCheck = ports.divergenceSettings && createDivergenceCheck(ports.divergenceSettings, ports, next)
    const path = { ports, fetcher, refreshAhead, divergenceCheck }
    const read: Handler<EdgeRead> = (request) => {
      const target = ports.resolveTarget(request)
      if (typeof target === 'string' || request.reuse === 'noStore') return next(request)
      const lookup = ports.store.lookup(target.key, target.tags)
      if (lookup instanceof Promise) return lookup.then((found) => respond(path, { request, target, lookup: found }))
      return respond(path, { request, target, lookup })
    }
    return read
  }
}

function respond(path: ReadPath, context: ReadContext): EdgeResponse | Promise<EdgeResponse> {
  const { fetcher } = path
  const { lookup, request } = context
  // A fetch in flight may have read data from before a write: share only a fetch that starts from now on.
  if (lookup.kind === 'unavailable' || lookup.epochs.fenced) {
    return fetcher.fetchLatest(context, false).then(({ response }) => response)
  }
  if (request.reuse === 'noCache') {
    return fetcher.fetchLatest(context, true).then((result) => toResponse(result, 'request'))
  }
  if (lookup.kind === 'miss') return fetchOrServeStale(path, context)
  return respondFromHit(path, context, lookup)
}

function respondFromHit(path: ReadPath, context: ReadContext, hit: Hit): EdgeResponse | Promise<EdgeResponse> {
  const { fetcher, refreshAhead, divergenceCheck } = path
  const { response: stored, age } = hit
  const { ttl } = stored
  const arrivedWithin = arrivalLimitOf(context.request)
  if (arrivedWithin !== undefined && age - stored.fetchTime >= arrivedWithin) return fetchOrServeStale(path, context)
  if (age < ttl) {
    refreshAhead.onHit(context, hit)
    divergenceCheck?.(context, hit)
    return serve(hit, { hit: true }, hit.isLocal ? repeatOf(path, context) : undefined)
  }
  const wait = path.ports.waitForRead(context.request)
  const staleFor = Math.max(staleDuringRefresh(path, context, hit), staleDuringWait(path, context, wait))
  if (age < ttl + staleFor && !mustWait(path, context)) {
    // At the limit of the node, the calls are left to responses that expire sooner.
    if (wait === 0 || age >= ttl + staleFor / 2) void fetcher.refresh(context)
    return serve(hit, { hit: true, detail: 'stale-while-revalidate' })
  }
  // While nodes fail, a refresh each second tries them, and no request waits for one that may be slow to fail.
  const failure = knownFailure(path, context)
  const stale = failure === undefined ? undefined : serveStaleIfError(hit, { hit: true }, failure)
  if (stale === undefined) return fetchOrServeStale(path, context)
  void fetcher.refresh(context)
  return stale
}

/** The error of a request that no node would answer. */
const NO_NODE = 920

/** Why a stored response is served beyond its time: the error of the nodes, or a fetch takes longer than usual. */
type StaleReason = number | 'late'

/** Returns why no response of the node is to be expected soon, if that is known. */
function knownFailure({ ports, fetcher }: ReadPath, context: ReadContext): StaleReason | undefined {
  const code = fetcher.recentFailure(context)
  if (code !== undefined) return code
  if (ports.isSilent(context.request)) return NO_NODE
  return fetcher.isLate(context) ? 'late' : undefined
}

/** No client waits for the work that a repeated hit starts in the background. */
const NO_CLIENT: RequestClient = new AbortController()

/**
 * Returns the function that serves the hit again, where a later request of any caller leads to the same target.
 * The same steps as for this request run again: the lookup, the count of hits, the check of divergence. A lookup in the
 * local tier is no hit while a tag is fenced, after the lease, and after a write or a purge of one of its tags; after a soft
 * purge the response is not fresh.
 */
function repeatOf(path: ReadPath, context: ReadContext): StoredOrigin['repeat'] {
  const { store } = path.ports
  const { request, target } = context
  const { key, tags, info } = target
  if (info.scope !== EVERYONE || request.reuse !== 'allowed') return undefined
  // Without the objects of this very request, which would stay in memory as long as the function does.
  const { trace: _, ...others } = request
  const later = { ...others, client: NO_CLIENT, cost: NO_COST }
  const repeat = (): EnvelopeResponse<StoredOrigin> | undefined => {
    if (!target.isCurrent()) return undefined
    const lookup = store.lookupLocal(key, tags)
    if (lookup?.kind !== 'hit' || lookup.age >= lookup.response.ttl) return undefined
    const again = { request: later, target, lookup }
    path.refreshAhead.onHit(again, lookup)
    path.divergenceCheck?.(again, lookup)
    return serve(lookup, { hit: true }, repeat)
  }
  return repeat
}

/** Returns the milliseconds after its lifetime for which a response is served while it is refreshed. */
function staleDuringRefresh({ refreshAhead }: ReadPath, { target }: ReadContext, stored: AgedResponse): number {
  const { staleWhileRevalidate, staleWhileHot } = stored.response
  return staleWhileHot > 0 && refreshAhead.isHot(target.key, stored) ? staleWhileHot : staleWhileRevalidate
}

/**
 * Returns the same while the calls of many requests wait for the limit of a node: the refresh will take longer than the
 * last fetch, by which the stored time was chosen. `wait`: milliseconds until the node gets one more call.
 */
function staleDuringWait({ ports }: ReadPath, context: ReadContext, wait: number): number {
  const { lookup, target } = context
  const errorNumber = lookup.kind === 'hit' ? lookup.response.errorNumber : 0
  if (wait === 0 || staleRuleOf(target.policy, errorNumber) !== 'allowed') return 0
  const { ttl, staleWhileRevalidate } = lifetimesOf(ports, context)
  return staleWhileRevalidate === 'automatic' ? automaticStale(ttl, wait) : 0
}

/**
 * Whether a request waits for a fetch although a stale response may be served during a refresh. After the error of a node
 * that answers, clients must see the error. Parts of a joined response that is refreshed must be fresh, because a
 * response with stale parts is not stored.
 */
function mustWait({ fetcher }: ReadPath, context: ReadContext): boolean {
  return context.request.reuse !== 'allowed' || fetcher.wasRefused(context)
}

/** If the nodes fail or are late, a stored response is served while it is of the same data and within `staleIfError`. */
async function fetchOrServeStale(path: ReadPath, context: ReadContext): Promise<EdgeResponse> {
  const fetching = path.fetcher.fetchShared(context)
  const failure = await failureOf(path, context, fetching)
  const stale = failure === undefined ? undefined : await findStale(path, context, failure)
  if (stale !== undefined) return stale
  const result = await fetching
  return result.kind === 'failed' ? result.response : toResponse(result, forwardReasonOf(context))
}

function forwardReasonOf({ lookup }: ReadContext): 'stale' | 'uri-miss' {
  return lookup.kind === 'hit' ? 'stale' : 'uri-miss'
}

/**
 * Resolves to why a stale response is better than waiting for the fetch; `undefined`: it is not. A part of
 * a joined response that is refreshed must be fresh, so its fetch may take long.
 */
async function failureOf(
  path: ReadPath,
  context: ReadContext,
  fetching: Promise<FetchResult>,
): Promise<StaleReason | undefined> {
  const { lookup, request, target } = context
  const hasStale = lookup.kind === 'hit' || target.policy.snapshot !== undefined
  const mayBeStale = hasStale && request.reuse === 'allowed'
  const late = knownFailure(path, context) === undefined ? path.ports.waitForRead(request) + lateAfter(context) : 0
  try {
    const result = await withTimeout(fetching, mayBeStale ? late : Number.POSITIVE_INFINITY, 'late' as const)
    if (result === 'late') return result
    return result.kind === 'failed' ? result.code : undefined
  } catch (fault) {
    return isNodeFailure(fault) ? fault.code : undefined
  }
}

/**
 * Returns the stored response, or one that is computed from a stored snapshot. A second lookup, since a write may have been
 * acknowledged while the nodes were called. A response that is not served while nodes fail is not served here either while
 * it is fresh: the request wanted a newer one.
 */
async function findStale(
  { ports: { store }, fetcher }: ReadPath,
  context: ReadContext,
  failure: StaleReason,
): Promise<EdgeResponse | undefined> {
  const { key, tags, policy } = context.target
  const fwd = forwardReasonOf(context)
  const serveStale = (lookup: Lookup) => {
    if (lookup.kind !== 'hit' || lookup.epochs.fenced) return undefined
    if (staleRuleOf(policy, lookup.response.errorNumber) !== 'allowed') return undefined
    return serveStaleIfError(lookup, { fwd }, failure)
  }
  const own = fwd === 'stale' ? serveStale(await store.lookup(key, tags)) : undefined
  if (own !== undefined) return own
  const computed = await fetcher.computeStale(context, serveStale)
  return computed && toResponse(computed, fwd)
}

function serveStaleIfError(
  stored: AgedResponse,
  status: CacheStatus,
  failure: StaleReason,
): EnvelopeResponse<StoredOrigin> | undefined {
  const { ttl, staleIfError } = stored.response
  const detail = failure === 'late' ? 'stale-while-revalidate' : `stale-if-error/${failure}`
  return stored.age < ttl + staleIfError ? serve(stored, { ...status, detail }) : undefined
}

function serve(
  { response, age }: AgedResponse,
  how: CacheStatus,
  repeat?: StoredOrigin['repeat'],
): EnvelopeResponse<StoredOrigin> {
  const status = withTtl(how, response.ttl - age)
  return envelopeOfStored(
    repeat === undefined
      ? { kind: 'stored', response, age, status }
      : { kind: 'stored', response, age, status, repeat },
  )
}

/** Written out: objects made by spreads have many hidden classes in V8, which slows down every later access. */
function withTtl({ hit, fwd, detail }: CacheStatus, ttl: number): CacheStatus {
  const status: { -readonly [Name in keyof CacheStatus]: CacheStatus[Name] } = { ttl }
  if (hit !== undefined) status.hit = hit
  if (fwd !== undefined) status.fwd = fwd
  if (detail !== undefined) status.detail = detail
  return status
}

/** Returns the fetched response; if it may be stored, with its cache status. */
function toResponse(result: FetchResult, fwd: NonNullable<CacheStatus['fwd']>): EdgeResponse {
  if (result.kind !== 'cacheable') return result.response
  const { response, entry, stored, collapsed } = result
  const { origin } = response
  const from = origin.kind === 'computed' ? origin.from : undefined
  const ttl = entry.response.ttl - entry.age
  const status: CacheStatus =
    from === 'stored'
      ? { hit: true, ttl, detail: 'snapshot' }
      : {
          fwd,
          ...(stored && !collapsed && { stored }),
          ...(collapsed && { collapsed }),
          ttl,
          ...(from !== undefined && { detail: isStaleIfError(from) ? from : 'snapshot' }),
        }
  const { response: fetched, age } = entry
  return { ...response, origin: { kind: 'fetched', response: fetched, age, status, from: origin } }
}
