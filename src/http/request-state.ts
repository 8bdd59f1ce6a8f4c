import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { cacheOutcomeOf, type RequestEvent } from '../core/events.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span, SpanAttributes, StageName } from '../core/trace.ts'
import { bodyOf, type Stopped } from '../listener/reject.ts'

/** What is told of each request once its answer has left (or its client has). No URLs, no values, no bodies, no headers. */

export type Observe = (event: RequestEvent) => void

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'POST', 'DELETE', 'OPTIONS'])

/** A method that nobody serves is chosen by the client: they are one. */
export function methodWord(method: string | undefined): string {
  return method !== undefined && METHODS.has(method) ? method : 'other'
}

/** `undefined`: no route, or one that is not in the catalogue. */
export function groupOf(endpoint: Endpoint | undefined): string {
  return endpoint !== undefined && 'cache' in endpoint && 'group' in endpoint.cache ? endpoint.cache.group : 'none'
}

const NO_ROUTE = 'unknown'

/** The template of the record: the router spells some otherwise. `unknown`: no record. */
export function routeOf({ routeOptions }: FastifyRequest): string {
  return routeOptions.config?.endpoint?.path ?? NO_ROUTE
}

/** `undefined`: nothing was answered. */
export function statusOf({ raw }: FastifyRequest, reply: FastifyReply): number | undefined {
  return raw.refusedWith?.status ?? (reply.raw.headersSent ? reply.statusCode : undefined)
}

/** How the cache dealt with an answer, and what it cost once. */
export function ofAnswer(answer: EdgeResponse | undefined): Pick<RequestEvent, 'cache' | 'fetchTime'> {
  if (answer === undefined) return { cache: 'none', fetchTime: undefined }
  if (answer.kind !== 'json' || answer.cached === undefined) return { cache: 'bypass', fetchTime: undefined }
  const cache = cacheOutcomeOf(answer.cached.status)
  return { cache, fetchTime: cache === 'hit' || cache === 'stale' ? answer.cached.response.fetchTime : undefined }
}

/** `waited`: milliseconds that the request was at work before the framework saw it. */
export function eventOf(request: FastifyRequest, reply: FastifyReply, waited: number): RequestEvent {
  return {
    requestId: request.id,
    method: methodWord(request.method),
    route: routeOf(request),
    group: groupOf(request.routeOptions.config?.endpoint),
    status: statusOf(request, reply) ?? 0,
    ms: reply.elapsedTime + waited,
    bytes: bytesSent(request, reply),
    ...ofAnswer(request.answered),
    caller: request.caller?.name,
    client: request.clientAddress,
    refusal: request.asked ? undefined : (request.raw.refusedWith ?? request.refused)?.code,
  }
}

/** The same of what the listener stopped. Its time is the listener's own, which is next to nothing. */
export function eventOfStopped({ id, request, error }: Stopped, client: string): RequestEvent {
  return {
    requestId: id,
    method: methodWord(request?.method),
    route: NO_ROUTE,
    group: groupOf(undefined),
    status: error?.status ?? 0,
    ms: 0,
    bytes: error === undefined || request?.method === 'HEAD' ? 0 : Buffer.byteLength(bodyOf(error)),
    ...ofAnswer(undefined),
    caller: undefined,
    client,
    refusal: error?.code,
  }
}

/** The same of what went out on the short road, whose log line knows most of it. */
export function eventOfHit(line: LoggedHit, endpoint: Endpoint, answer: EdgeResponse, bytes: number): RequestEvent {
  const { cache, fetchTime: cost } = ofAnswer(answer)
  return {
    requestId: line.reqId,
    method: methodWord(line.method),
    route: line.route,
    group: groupOf(endpoint),
    status: line.status,
    ms: line.elapsed,
    bytes: line.method === 'HEAD' ? 0 : bytes,
    cache,
    fetchTime: cost,
    caller: line.caller,
    client: line.client,
    refusal: undefined,
  }
}

export interface LoggedHit {
  readonly reqId: string
  readonly method: 'GET' | 'HEAD'
  readonly route: string
  readonly status: number
  readonly elapsed: number
  readonly caller: string
  readonly client: string
}

/** A file whose length nobody knew is counted by its connection, which carries one answer at a time. */
function bytesSent({ method, sentBefore, raw }: FastifyRequest, reply: FastifyReply): number {
  if (method === 'HEAD' || reply.statusCode === 304) return 0
  if (sentBefore !== undefined) return Math.max(0, (raw.socket?.bytesWritten ?? 0) - sentBefore)
  return reply.raw.headersSent ? Number(reply.getHeader('content-length') ?? 0) : 0
}

/** The stages of a traced request that are the framework's: one ends where the next begins. */

/** `undefined`: nobody traces this request. */
export type BeginTrace = (request: { readonly id: string; readonly raw: IncomingMessage }) => Span | undefined

/** `facts`: of the stage that ends. */
export function nextStage(request: FastifyRequest, stage: StageName, facts?: SpanAttributes): void {
  if (!request.trace?.recorded) return
  request.stage?.end(facts)
  request.stage = request.trace.startSpan(stage)
}

/** The stages that come now are the pipeline's. */
export function endStage(request: FastifyRequest): void {
  request.stage?.end()
  request.stage = undefined
}

/** Once for each request, when its answer has left or its client has. */
export function endTrace(request: FastifyRequest, { method, route, status, group, cache }: RequestEvent): void {
  endStage(request)
  const left = status === 0 ? { fault: 'cancelled' as const } : {}
  request.trace?.end({ method, route, status, group, cache, ...left })
}
