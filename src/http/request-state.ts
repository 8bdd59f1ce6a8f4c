/**
 * What is known of one request while it runs (`request.edge`), and the event that is emitted when it has ended. An
 * event contains no query value, no body and no header, and a path only if no route matches it.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { cacheOutcomeOf } from '../core/cache-status.ts'
import { routeOf } from '../core/endpoint-names.ts'
import type { EdgeError } from '../core/errors.ts'
import type { RequestEvent, RequestMessage } from '../core/events.ts'
import type { Caller } from '../core/request.ts'
import { cachedOf, type EdgeResponse, type EnvelopeResponse, type StoredOrigin } from '../core/response.ts'
import type { Span, SpanAttributes, StageName } from '../core/trace.ts'
import type { RejectedRequest } from '../listener/reject.ts'
import { type Flags, NO_FLAGS } from './parameters.ts'

export type RequestEventListener = (event: RequestEvent) => void

/** Begins the trace of a request, or returns `undefined` if the request is not traced. */
export type BeginTrace = (request: { readonly id: string; readonly raw: TracedRequest }) => Span | undefined

/** What a trace needs of a request. */
export type TracedRequest = Pick<IncomingMessage, 'method' | 'headers' | 'httpVersion' | 'socket'>

export class RequestState {
  /** Monotonic milliseconds. */
  readonly startedAt = performance.now()
  /** The address of the client behind trusted proxies, in canonical form. */
  readonly clientAddress: string
  trace: Span | undefined
  /** Absent until the request is authenticated. */
  caller: Caller | undefined = undefined
  flags: Flags = NO_FLAGS
  /** The request passed every check and was handed to the pipeline, which reports on it from then on. */
  enteredPipeline = false
  /** The error that was sent. */
  error: EdgeError | undefined = undefined
  /** The response that was sent; absent if an error was sent, or nothing yet. */
  response: EdgeResponse | undefined = undefined
  /** Bytes that the connection had sent before a response of unknown length. */
  bytesSentBefore: number | undefined = undefined
  #stage: Span | undefined = undefined

  constructor(clientAddress: string, trace: Span | undefined) {
    this.clientAddress = clientAddress
    this.trace = trace
  }

  /** Begins the span of a stage and ends the one before with these attributes. Does nothing if no trace is recorded. */
  nextStage(stage: StageName, attributes?: SpanAttributes): void {
    if (!this.trace?.recorded) return
    this.#stage?.end(attributes)
    this.#stage = this.trace.startSpan(stage)
  }

  /** Ends the span of the current stage. The pipeline begins its own spans. */
  endStage(): void {
    this.#stage?.end()
    this.#stage = undefined
  }

  /** Ends the trace, once, when the response was sent or the client has disconnected. */
  endTrace({ method, route, status, group, cache }: RequestEvent): void {
    this.endStage()
    const disconnected = status === 0 ? { fault: 'cancelled' as const } : {}
    this.trace?.end({ method, route, status, group, cache, ...disconnected })
  }
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS'])
const UNKNOWN_ROUTE = 'unknown'

/** Returns the method, or `other` for one that no endpoint has, so that a client cannot create new label values. */
export function methodLabel(method: string | undefined): string {
  return method !== undefined && METHODS.has(method) ? method : 'other'
}

/** Returns the cache group of an endpoint, or `none`. */
export function groupOf(endpoint: Endpoint | undefined): string {
  return endpoint !== undefined && 'cache' in endpoint && 'group' in endpoint.cache ? endpoint.cache.group : 'none'
}

/** To be called at the end of the request. `message`: of its line in the log; absent: it has none. */
export function eventOf(request: FastifyRequest, reply: FastifyReply, message?: RequestMessage): RequestEvent {
  const { edge, raw, routeOptions } = request
  const endpoint = routeOptions.config?.endpoint
  const errorCode = (raw.rejectedWith ?? edge.error)?.code
  const endedAt = performance.now()
  return {
    at: Date.now(),
    endedAt,
    requestId: request.id,
    method: methodLabel(request.method),
    sentMethod: request.method,
    route: endpoint === undefined ? UNKNOWN_ROUTE : routeOf(endpoint),
    path: endpoint === undefined ? shownPath(raw.url) : undefined,
    group: groupOf(endpoint),
    status: raw.rejectedWith?.status ?? (reply.raw.headersSent ? reply.statusCode : 0),
    ms: endedAt - edge.startedAt,
    bytes: bytesSent(request, reply),
    ...cacheFields(edge.response),
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
    at: Date.now(),
    endedAt: performance.now(),
    requestId: id,
    method: methodLabel(request?.method),
    sentMethod: request?.method,
    route: UNKNOWN_ROUTE,
    path: shownPath(request?.url),
    group: groupOf(undefined),
    status: error?.status ?? 0,
    ms: 0,
    bytes,
    ...cacheFields(undefined),
    errorCode: error?.code,
    caller: undefined,
    client,
    traceId: undefined,
    rejectedWith: error?.code,
    isOfListener: true,
    message,
  }
}

/** The event of a prepared hit. `sent`: status and body of the representation; a HEAD receives no body. */
export function eventOfHit(
  { id, method, edge }: Pick<FastifyRequest, 'id' | 'method' | 'edge'>,
  endpoint: Endpoint,
  caller: string,
  { origin }: EnvelopeResponse<StoredOrigin>,
  sent: { readonly status: number; readonly bytes?: Buffer | undefined },
): RequestEvent {
  const endedAt = performance.now()
  return {
    at: Date.now(),
    endedAt,
    requestId: id,
    method,
    sentMethod: method,
    route: routeOf(endpoint),
    path: undefined,
    group: groupOf(endpoint),
    status: sent.status,
    ms: endedAt - edge.startedAt,
    bytes: method === 'HEAD' ? 0 : (sent.bytes?.length ?? 0),
    cache: 'hit',
    fetchTime: origin.response.fetchTime,
    cacheStatus: origin.status,
    errorCode: undefined,
    caller,
    client: edge.clientAddress,
    traceId: undefined,
    rejectedWith: undefined,
    isOfListener: false,
    message: 'request',
  }
}

function cacheFields(response: EdgeResponse | undefined): Pick<RequestEvent, 'cache' | 'fetchTime' | 'cacheStatus'> {
  if (response === undefined) return { cache: 'none', fetchTime: undefined, cacheStatus: undefined }
  const cached = response.kind === 'file' ? undefined : cachedOf(response)
  if (cached === undefined) {
    const isTrial = response.kind === 'envelope' && response.origin.kind === 'trial'
    return { cache: 'bypass', fetchTime: undefined, cacheStatus: isTrial ? response.origin.status : undefined }
  }
  const { status: cacheStatus, response: stored } = cached
  const cache = cacheOutcomeOf(cacheStatus)
  return { cache, fetchTime: cache === 'hit' || cache === 'stale' ? stored.fetchTime : undefined, cacheStatus }
}

/** The bytes of a file of unknown length are counted by its connection, which carries one response at a time. */
function bytesSent({ method, edge, raw }: FastifyRequest, reply: FastifyReply): number {
  if (method === 'HEAD' || reply.statusCode === 304) return 0
  if (edge.bytesSentBefore !== undefined) return Math.max(0, (raw.socket?.bytesWritten ?? 0) - edge.bytesSentBefore)
  return reply.raw.headersSent ? Number(reply.getHeader('content-length') ?? 0) : 0
}

const MAX_SHOWN_LENGTH = 120
/** Where a query can begin, also in URLs of clients that encode or forget its question mark. */
const QUERY_START = /[?#;&=]|%(?:3[fbd]|2[36])/i
/** Control characters, and characters that change the direction of the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

/**
 * Returns the path of a request target without anything that can be a query, escaped and at most 120 characters long.
 * Returns `undefined` for a target that is no path: an absolute URL may contain credentials.
 */
export function shownPath(target: string | undefined): string | undefined {
  if (target === undefined || !target.startsWith('/')) return undefined
  const end = target.search(QUERY_START)
  const path = (end < 0 ? target : target.slice(0, end)).slice(0, MAX_SHOWN_LENGTH + 1)
  const escaped = path.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`)
  return escaped.length > MAX_SHOWN_LENGTH ? `${escaped.slice(0, MAX_SHOWN_LENGTH - 1)}…` : escaped
}
