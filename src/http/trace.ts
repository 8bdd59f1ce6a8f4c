/** The stages of a traced request that are the framework's: one ends where the next begins. */
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { RequestEvent } from '../core/events.ts'
import type { Span, SpanAttributes, StageName } from '../core/trace.ts'

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
