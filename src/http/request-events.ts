/** The event of a request that has ended, with bounded values: of Fastify, of a prepared hit, or rejected by the listener. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../contracts/endpoint.ts'
import { cacheOutcomeOf } from '../core/cache.ts'
import { routeOf } from '../core/endpoint-names.ts'
import { type RequestEvent, type RequestMessage, RequestRecord } from '../core/events.ts'
import { cachedOf, partsOf, uncachedStatusOf } from '../core/origins.ts'
import type { EdgeResponse, EnvelopeResponse, StoredOrigin } from '../core/response.ts'
import type { RejectedRequest } from '../listener/reject.ts'
import type { RequestState } from './request-state.ts'
import { shownPath } from './shown-path.ts'

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS'])

/** Returns the method, or `other` for one that no endpoint has, so that a client cannot create new label values. */
export function methodLabel(method: string | undefined): string {
  return method !== undefined && METHODS.has(method) ? method : 'other'
}

/** What events name of an endpoint. */
export type EventNames = Pick<RequestEvent, 'route' | 'group'>

const NO_ENDPOINT: EventNames = { route: 'unknown', group: 'none' }

export function eventNamesOf(endpoint: Endpoint): EventNames {
  return { route: routeOf(endpoint), group: groupOf(endpoint) }
}

/** Returns the cache group of an endpoint, or `none`. */
export function groupOf(endpoint: Endpoint): string {
  return 'cache' in endpoint && 'group' in endpoint.cache ? endpoint.cache.group : 'none'
}

/** To be called at the end of the request. `message`: of its line in the log; absent: it has none. */
export function eventOf(request: FastifyRequest, reply: FastifyReply, message?: RequestMessage): RequestEvent {
  const { edge, raw, routeOptions } = request
  const names = routeOptions.config?.eventNames
  const { route, group } = names ?? NO_ENDPOINT
  const errorCode = (raw.rejectedWith ?? edge.error)?.code
  const { cache, fetchTime, cacheStatus, age } = cacheFields(edge.response)
  const endedAt = performance.now()
  return {
    at: Date.now(),
    endedAt,
    requestId: request.id,
    method: methodLabel(request.method),
    sentMethod: request.method,
    route,
    path: names === undefined ? shownPath(raw.url) : undefined,
    group,
    status: raw.rejectedWith?.status ?? (reply.raw.headersSent ? reply.statusCode : 0),
    ms: endedAt - edge.startedAt,
    bytes: bytesSent(request, reply),
    cache,
    fetchTime,
    cacheStatus,
    age,
    errorCode,
    caller: edge.caller?.name,
    client: edge.clientAddress,
    traceId: edge.trace?.traceId,
    rejectedWith: edge.enteredPipeline ? undefined : errorCode,
    isOfListener: false,
    message,
  }
}

/** The event of a request that the listener rejected. The time is 0: the listener decides at once. */
export function eventOfRejected(
  { id, request, error, bytes = 0 }: RejectedRequest,
  client: string,
  message: RequestMessage | undefined,
): RequestEvent {
  return {
    ...new RequestRecord(),
    at: Date.now(),
    endedAt: performance.now(),
    requestId: id,
    method: methodLabel(request?.method),
    sentMethod: request?.method,
    ...NO_ENDPOINT,
    path: shownPath(request?.url),
    status: error?.status ?? 0,
    bytes,
    errorCode: error?.code,
    client,
    rejectedWith: error?.code,
    isOfListener: true,
    message,
  }
}

/** The event of a prepared hit. `sent`: status and body of the representation; a HEAD receives no body. */
export function eventOfHit(
  { method, state }: { readonly method: string; readonly state: RequestState },
  { route, group }: EventNames,
  caller: string,
  { origin }: EnvelopeResponse<StoredOrigin>,
  sent: { readonly status: number; readonly bytes?: Buffer | undefined },
): RequestEvent {
  const endedAt = performance.now()
  return {
    at: Date.now(),
    endedAt,
    requestId: state.id,
    method,
    sentMethod: method,
    route,
    path: undefined,
    group,
    status: sent.status,
    ms: endedAt - state.startedAt,
    bytes: method === 'HEAD' ? 0 : (sent.bytes?.length ?? 0),
    cache: 'hit',
    fetchTime: origin.response.fetchTime,
    cacheStatus: origin.status,
    age: origin.age,
    errorCode: undefined,
    caller,
    client: state.clientAddress,
    traceId: undefined,
    rejectedWith: undefined,
    isOfListener: false,
    message: 'request',
  }
}

type CacheFields = Pick<RequestEvent, 'cache' | 'fetchTime' | 'cacheStatus' | 'age'>

function cacheFields(response: EdgeResponse | undefined): CacheFields {
  const none = { fetchTime: undefined, cacheStatus: undefined, age: undefined }
  if (response === undefined) return { cache: 'none', ...none }
  if (response.kind === 'file') return { cache: 'bypass', ...none }
  const cached = cachedOf(response)
  if (cached === undefined) {
    const { origin } = response
    const cacheStatus = uncachedStatusOf(origin)
    return { cache: 'bypass', fetchTime: undefined, cacheStatus, age: cacheStatus && partsOf(origin).oldestPartAge }
  }
  const { status: cacheStatus, response: stored, age } = cached
  const cache = cacheOutcomeOf(cacheStatus)
  return { cache, fetchTime: cache === 'hit' || cache === 'stale' ? stored.fetchTime : undefined, cacheStatus, age }
}

/** The bytes of a file of unknown length are counted by its connection, which carries one response at a time. */
function bytesSent({ method, edge, raw }: FastifyRequest, reply: FastifyReply): number {
  if (method === 'HEAD' || reply.statusCode === 304) return 0
  if (edge.bytesSentBefore !== undefined) return Math.max(0, (raw.socket?.bytesWritten ?? 0) - edge.bytesSentBefore)
  return reply.raw.headersSent ? Number(reply.getHeader('content-length') ?? 0) : 0
}
