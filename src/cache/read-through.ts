/** The stage around reads: serves stored responses, fetches the others, and refreshes much-used ones ahead of expiry. */

import type { CacheStatus } from '../core/cache.ts'
import { errorNumberOf } from '../core/envelope.ts'
import { envelopeOfStored } from '../core/origins.ts'
import { createNoClient, type EdgeRead, type Handler, NO_COST, type Stage } from '../core/request.ts'
import type { EnvelopeResponse, ReadResponse, StoredOrigin } from '../core/response.ts'
import type { AgedResponse, Hit } from '../core/stored-response.ts'
import { createDivergenceCheck } from './compare-responses.ts'
import { Fetcher } from './fetch.ts'
import { EVERYONE } from './key.ts'
import { MAX_AUTOMATIC_MS, staleRuleOf } from './lifetimes.ts'
import { arrivalLimitOf, type ReadContext } from './read-context.ts'
import { type ReadPath, type ReadThroughPorts, refreshSoon } from './read-path.ts'
import { RefreshAhead } from './refresh-ahead.ts'
import { serve, toResponse } from './serve.ts'
import { fetchOrServeStale, isOutage, knownFailure, serveStale } from './serve-stale.ts'
import { respondWithoutRedis } from './serve-without-redis.ts'
import { Snapshots } from './snapshots/stage.ts'

/**
 * Responses that may be stored carry `cached`. A hit from the local tier is returned synchronously. Rejects as `next`
 * does, unless a stale response may be served instead.
 */
export function readThrough(ports: ReadThroughPorts): Stage<EdgeRead> {
  return (next) => {
    const source = new Snapshots({ ...ports, ...ports.snapshots }, next, (request) => read(request))
    const fetcher = new Fetcher(ports, next, source)
    const refreshAhead = new RefreshAhead(ports.refreshAhead, {
      ...ports,
      refresh: (context) => fetcher.refresh(context),
    })
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
  const { staleWhileRevalidate } = context.target.lifetimes
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
