/** The stage around reads: serves stored responses, fetches the others, and refreshes much-used ones ahead of expiry. */
import { type CacheStatus, OUTAGE, WITHOUT_REDIS } from '../core/cache.ts'
import { errorNumberOf, isOutageFailure, nodeFailureOf, OWNER_UNKNOWN } from '../core/envelope.ts'
import {
  arrivalLimitOf,
  createNoClient,
  type EdgeRead,
  type Handler,
  NO_COST,
  nodeOf,
  type Stage,
} from '../core/request.ts'
import {
  type AgedResponse,
  type EnvelopeResponse,
  envelopeOfStored,
  type Hit,
  type Lookup,
  type ReadResponse,
  responseOf,
  type StoredOrigin,
  type StoredResponse,
} from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import {
  type CachePorts,
  type FetchResult,
  lifetimesOf,
  lookUpWithoutRedis,
  type ReadContext,
  servesWithoutRedis,
} from './call-nodes.ts'
import { createDivergenceCheck, type DivergenceCheck } from './compare-responses.ts'
import { createFetcher, type Fetcher, lateAfter } from './fetch.ts'
import { type CacheTarget, EVERYONE } from './key.ts'
import { MAX_AUTOMATIC_MS, staleRuleOf } from './policy.ts'
import {
  createRefreshAhead,
  type RefreshAhead,
  type RefreshAheadOptions,
  type WaitingRefreshes,
} from './refresh-ahead.ts'
import type { SnapshotPorts } from './snapshots/build.ts'
import { createSnapshots, type StoredSource } from './snapshots/stage.ts'
import { storageLifetime } from './stores/local-entries.ts'

export interface ReadThroughPorts extends CachePorts {
  readonly refreshAhead: RefreshAheadOptions
  readonly waiting: WaitingRefreshes
  /** Whether the node that would be called is known not to answer at all. */
  readonly isSilent: (request: EdgeRead) => boolean
  /** Whether a call would leave no free slot of the node that would be called. */
  readonly isSaturated: (request: EdgeRead) => boolean
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
    const read: Handler<EdgeRead, ReadResponse> = (request) => {
      const target = ports.resolveTarget(request)
      if (typeof target === 'string' || request.reuse === 'noStore') return next(request)
      const lookup = ports.store.lookup(target.key, target.tags)
      if (lookup instanceof Promise) return lookup.then((found) => respond(path, { request, target, lookup: found }))
      return respond(path, { request, target, lookup })
    }
    // Only the cache itself reads snapshots.
    return read as Handler<EdgeRead>
  }
}

function respond(path: ReadPath, context: ReadContext): ReadResponse | Promise<ReadResponse> {
  const { fetcher } = path
  const { lookup, request } = context
  if (lookup.kind === 'unavailable') return respondWithoutRedis(path, context)
  // A fetch in flight may have read data from before a write: share only a fetch that starts from now on.
  if (lookup.epochs.fenced) {
    return fetcher.fetchLatest(context, false).then(({ response }) => response)
  }
  if (request.reuse === 'noCache') {
    return fetcher.fetchLatest(context, true).then((result) => toResponse(result, 'request'))
  }
  if (lookup.kind === 'miss') return fetchOrServeStale(path, context)
  return respondFromHit(path, context, lookup)
}

/**
 * Without Redis, no replica knows what the others write. If the operator prefers stale responses, those of the local tier, and
 * what its snapshots determine, are served and marked, and expired ones are refreshed for this replica. If no other replica
 * writes, the fresh ones are as good as ever.
 */
function respondWithoutRedis(path: ReadPath, context: ReadContext): ReadResponse | Promise<ReadResponse> {
  const { ports, fetcher } = path
  const { request } = context
  const isServed = servesWithoutRedis(ports, context) && request.reuse === 'allowed' && nodeOf(request) === undefined
  if (!isServed) return fetcher.fetchLatest(context, false).then(({ response }) => response)
  const lookup = lookUpWithoutRedis(ports, context)
  const stored = serveFound(path, context, lookup)
  if (stored === undefined) return computeOrCall(path, context)
  if (lookup?.kind === 'hit' && lookup.age >= lookup.response.ttl) {
    const wait = ports.waitForRead(request, ports.waiting.others)
    refreshSoon(path, { ...context, lookup }, wait, storageLifetime(lookup.response) - lookup.age)
  }
  return stored
}

async function computeOrCall(path: ReadPath, context: ReadContext): Promise<ReadResponse> {
  const { fetcher } = path
  const find = async (serve: StoredSource['serve'], isOnlySource = false): Promise<ReadResponse | undefined> => {
    const computed = await fetcher.computeStored(context, { serve, isOnlySource, isLocal: true })
    return computed && toResponse(computed, 'uri-miss')
  }
  const computed = await find(serveLocal(path, context))
  if (computed !== undefined) return computed
  const fetching = fetcher.fetchLatest(context, false)
  const failure = await failureOf(fetching)
  if (failure !== undefined) {
    const serve = serveLocal(path, context, failure)
    const stale = serve(context.target) ?? (await find(serve, isOutage(context, failure)))
    if (stale !== undefined) return stale
  }
  return toResponse(await fetching, 'uri-miss')
}

/** Returns what serves the local tier while Redis is unreachable. `failure`: why the nodes did not answer; absent: they were not asked. */
function serveLocal(path: ReadPath, context: ReadContext, failure?: StaleReason) {
  return ({ key, tags }: Pick<CacheTarget, 'key' | 'tags'>): ReadResponse | undefined =>
    serveFound(path, context, path.ports.store.lookupWithoutRedis?.(key, tags), failure)
}

function serveFound(
  { ports, fetcher }: ReadPath,
  context: ReadContext,
  found: Lookup | undefined,
  failure?: StaleReason,
): ReadResponse | undefined {
  if (found?.kind !== 'hit') return undefined
  const { ttl, staleInOutage } = found.response
  if (ports.isOnlyReplica()) {
    if (failure !== undefined) return serveStale(context, found, { status: { fwd: 'uri-miss' }, reason: failure })
    if (found.age < ttl) return serve(found, { hit: true })
  }
  const { withoutRedis } = lifetimesOf(ports, context)
  if (withoutRedis === undefined) return undefined
  const rule = staleRuleOf(context.target.policy, errorNumberOf(found.response))
  // A status is not served because nodes fail, except in an outage; and clients must see the error of a node that answers.
  const isRefused = (failure !== undefined && rule !== 'allowed') || fetcher.wasRefused(context)
  const usual = rule === 'never' || isRefused ? 0 : withoutRedis
  const bound = failure !== undefined && isOutage(context, failure) ? staleInOutage : usual
  return found.age < ttl + bound ? serve(found, { hit: true, detail: WITHOUT_REDIS }) : undefined
}

function respondFromHit(path: ReadPath, context: ReadContext, hit: Hit): ReadResponse | Promise<ReadResponse> {
  const { refreshAhead, divergenceCheck } = path
  const { response: stored, age } = hit
  const { ttl } = stored
  const arrivedWithin = arrivalLimitOf(context.request)
  if (arrivedWithin !== undefined && age - stored.fetchTime >= arrivedWithin) return fetchOrServeStale(path, context)
  if (age < ttl) {
    refreshAhead.onHit(context, hit)
    divergenceCheck?.(context, hit)
    return serve(hit, { hit: true }, hit.isLocal ? repeatOf(path, context) : undefined)
  }
  const { reuse } = context.request
  if (typeof reuse === 'object' && reuse.staleUpTo !== undefined && age <= reuse.staleUpTo)
    return serve(hit, { hit: true })
  const inOutage = stored.staleInOutage > 0 ? serveInOutage(path, context, hit) : undefined
  if (inOutage !== undefined) return inOutage
  const wait = path.ports.waitForRead(context.request, path.ports.waiting.others)
  const staleFor = Math.max(staleDuringRefresh(path, context, hit), staleDuringWait(path, context, hit, wait))
  if (age < ttl + staleFor && !mustWait(path, context)) {
    refreshSoon(path, context, wait, ttl + staleFor - age)
    return serve(hit, { hit: true, detail: 'stale-while-revalidate' })
  }
  // While nodes fail, a refresh each second tries them, and no request waits for one that may be slow to fail.
  const failure = knownFailure(path, context)
  const stale = failure === undefined ? undefined : serveStale(context, hit, { status: { hit: true }, reason: failure })
  if (stale === undefined) return fetchOrServeStale(path, context)
  refreshSoon(path, context, wait, ttl + stored.staleIfError - age)
  return stale
}

/** While no node answers, a response is marked as served in an outage, not as being refreshed. */
function serveInOutage(path: ReadPath, context: ReadContext, hit: Hit): ReadResponse | undefined {
  const failure = path.fetcher.recentFailure(context)
  if (failure === undefined || !isOutage(context, failure)) return undefined
  const response = serveStale(context, hit, { status: { hit: true }, reason: failure })
  if (response !== undefined) void path.fetcher.refresh(context)
  return response
}

/** At the limit of the node, the call is left to clients that wait for one. `servedFor`: milliseconds. */
function refreshSoon({ fetcher, refreshAhead }: ReadPath, context: ReadContext, wait: number, servedFor: number): void {
  if (wait === 0) void fetcher.refresh(context)
  else if (fetcher.mayRefresh(context)) refreshAhead.refreshWhenIdle(context, servedFor)
}

/**
 * Whether no node answers that could answer the request. Of a joined response that lacks a node, the nodes that answer
 * return the rest, so its parts are not served.
 */
function isOutage({ request }: ReadContext, reason: StaleReason): boolean {
  if (typeof reason === 'string' || request.reuse !== 'allowed' || nodeOf(request) !== undefined) return false
  return isOutageFailure(reason)
}

/**
 * Why a stored response is served beyond its time: the error of the nodes, the node that is asked first does not answer at
 * all, or a fetch takes longer than usual.
 */
type StaleReason = number | 'silent' | 'late'

const DETAILS = { silent: { error: 920 }, late: 'stale-while-revalidate' } as const
const TIMED_OUT = 922
/** As many nodes as a call tries, and once more. */
const MAX_ATTEMPTS = 4

/** Returns why no response of the node is to be expected soon, if that is known. */
function knownFailure({ ports, fetcher }: ReadPath, context: ReadContext): StaleReason | undefined {
  const code = fetcher.recentFailure(context)
  if (code !== undefined) return code
  if (ports.isSilent(context.request)) return 'silent'
  return fetcher.isLate(context) ? 'late' : undefined
}

/** No client waits for the work that a repeated hit starts in the background. */
const NO_CLIENT = createNoClient()

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
    const { response, age } = lookup
    if (response.kind !== 'response') return undefined
    const status: CacheStatus = { ttl: response.ttl - age, hit: true }
    return envelopeOfStored({ kind: 'stored', response, age, status, repeat })
  }
  return repeat
}

/** Returns the milliseconds after its lifetime for which a response is served while it is refreshed. */
function staleDuringRefresh({ refreshAhead }: ReadPath, { target }: ReadContext, stored: AgedResponse): number {
  const { staleWhileRevalidate, staleWhileHot } = stored.response
  return staleWhileHot > 0 && refreshAhead.isHot(target.key, stored) ? staleWhileHot : staleWhileRevalidate
}

/**
 * Returns the same while a node is at one of its limits, otherwise 0. The refresh will take longer than the last fetch, by
 * which the stored time was chosen, and how much longer depends on all responses that are in use. A status need not be hot.
 * `wait`: milliseconds for the limit per minute.
 */
function staleDuringWait({ ports }: ReadPath, context: ReadContext, { response }: Hit, wait: number): number {
  if (wait === 0 && !ports.isSaturated(context.request)) return 0
  if (staleRuleOf(context.target.policy, errorNumberOf(response)) !== 'allowed') return response.staleWhileHot
  const { staleWhileRevalidate } = lifetimesOf(ports, context)
  return staleWhileRevalidate === 'automatic' ? MAX_AUTOMATIC_MS : 0
}

/**
 * Whether a request waits for a fetch although a stale response may be served during a refresh. After the error of a node
 * that answers, clients must see the error. Parts of a joined response that is refreshed must be fresh, because a
 * response with stale parts is not stored.
 */
function mustWait({ fetcher }: ReadPath, context: ReadContext): boolean {
  return context.request.reuse !== 'allowed' || fetcher.wasRefused(context)
}

/** If the nodes fail or are late, a stored response is served while it is of the same data and within its stale times. */
async function fetchOrServeStale(path: ReadPath, context: ReadContext, attempt = 1): Promise<ReadResponse> {
  const { lookup, request, target } = context
  const fetching = path.fetcher.fetchShared(context)
  // It may fail after a stale response was served.
  fetching.catch(() => undefined)
  const hasStale = lookup.kind === 'hit' || target.policy.rows !== undefined
  const patience = path.ports.waitForRead(request, 0) + lateAfter(context)
  let tried: StaleReason | undefined
  // A part of a joined response that is refreshed must be fresh, so its fetch may take long.
  if (hasStale && request.reuse === 'allowed') {
    const known = knownFailure(path, context)
    const reason = known ?? (await failureOf(withTimeout(fetching, patience, 'late' as const)))
    const stale = reason === undefined ? undefined : await findStale(path, context, reason)
    if (stale !== undefined) return stale
    // If the fetch went on, another replica may have stored a response meanwhile.
    if (known === undefined) tried = reason
  }
  const failure = await failureOf(fetching)
  const stale = failure === undefined || failure === tried ? undefined : await findStale(path, context, failure)
  if (stale !== undefined) return stale
  // A node was found to hang meanwhile. Others may answer; if none does, the next error shows it.
  const mayHang = failure === TIMED_OUT && path.ports.isSilent(request) && attempt < MAX_ATTEMPTS
  if (mayHang && (lifetimesOf(path.ports, context).outage ?? 0) > 0)
    return fetchOrServeStale(path, context, attempt + 1)
  const result = await fetching
  return result.kind === 'failed' ? result.response : toResponse(result, forwardReasonOf(context))
}

function forwardReasonOf({ lookup }: ReadContext): 'stale' | 'uri-miss' {
  return lookup.kind === 'hit' ? 'stale' : 'uri-miss'
}

/** Resolves to why a stale response is better than the result of the fetch; `undefined`: it is not. */
async function failureOf(fetching: Promise<FetchResult | 'late'>): Promise<StaleReason | undefined> {
  try {
    const result = await fetching
    if (result === 'late') return result
    return result.kind === 'failed' ? result.code : undefined
  } catch (fault) {
    return nodeFailureOf(fault)
  }
}

/**
 * Returns the stored response, or one that is computed from a stored snapshot. A second lookup, since a write may have been
 * acknowledged while the nodes were called. A response that is not served while nodes fail is not served here either while
 * it is fresh: the request wanted a newer one.
 */
async function findStale(path: ReadPath, context: ReadContext, reason: StaleReason): Promise<ReadResponse | undefined> {
  const fwd = forwardReasonOf(context)
  const serveFound: StoredSource['serve'] = async ({ key, tags }) => {
    const lookup = await path.ports.store.lookup(key, tags)
    if (lookup.kind !== 'hit' || lookup.epochs.fenced) return undefined
    return serveStale(context, lookup, { status: { fwd }, reason })
  }
  const own = fwd === 'stale' ? await serveFound(context.target) : undefined
  if (own !== undefined) return own
  const computed = await path.fetcher.computeStored(context, { serve: serveFound })
  return computed && toResponse(computed, fwd)
}

/** Returns undefined for a response that may not be served for this reason. */
function serveStale(
  context: ReadContext,
  stored: AgedResponse,
  { status, reason }: { readonly status: CacheStatus; readonly reason: StaleReason },
): ReadResponse | undefined {
  const { response } = stored
  const { ttl, staleIfError, staleInOutage } = response
  if (stored.age < ttl + staleInOutage && isOutage(context, reason)) return serve(stored, { ...status, detail: OUTAGE })
  const rule = staleRuleOf(context.target.policy, errorNumberOf(response))
  if (reason === OWNER_UNKNOWN || rule !== 'allowed') return undefined
  const detail = typeof reason === 'string' ? DETAILS[reason] : { error: reason }
  return stored.age < ttl + staleIfError ? serve(stored, { ...status, detail }) : undefined
}

function serve(stored: AgedResponse, how: CacheStatus, repeat?: StoredOrigin['repeat']) {
  return responseOf(stored, withTtl(how, stored.response.ttl - stored.age), repeat)
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
function toResponse(result: FetchResult, fwd: NonNullable<CacheStatus['fwd']>): ReadResponse {
  if (result.kind !== 'cacheable') return result.response
  const { response, entry, stored, collapsed } = result
  const from = response.kind === 'envelope' && response.origin.kind === 'computed' ? response.origin.from : undefined
  const ttl = entry.response.ttl - entry.age
  const status: CacheStatus =
    from === 'stored' || from === WITHOUT_REDIS
      ? { hit: true, ttl, detail: from === 'stored' ? 'snapshot' : from }
      : {
          fwd,
          ...(stored && !collapsed && { stored }),
          ...(collapsed && { collapsed }),
          ttl,
          ...(from !== undefined && { detail: from === 'fetched' ? 'snapshot' : from }),
        }
  const { response: entered, age } = entry
  if (response.kind === 'snapshot') return { ...response, cached: { response: entered, age, status } }
  const { origin } = response
  return { ...response, origin: { kind: 'fetched', response: entered as StoredResponse, age, status, from: origin } }
}
