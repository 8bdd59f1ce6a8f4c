/** Spans around handlers and other work. */

import { cacheOutcomeOf } from './cache.ts'
import { routeOf } from './endpoint-names.ts'
import { EdgeError } from './errors.ts'
import { cachedOf, isPartial } from './origins.ts'
import { type EdgeRead, type EdgeRequest, type Handler, onlyNodeOf } from './request.ts'
import type { ReadResponse } from './response.ts'
import type { Span, SpanAttributes, StageName, Trace } from './trace.ts'

/** Returns the handler with a span around it. Without a trace, a synchronous handler stays synchronous. */
export function traced<R extends EdgeRequest>(stage: StageName, handler: Handler<R>): Handler<R> {
  return (request) =>
    request.trace?.recorded
      ? handleIn(request.trace.startSpan(stage, requestAttributes(request)), request, handler)
      : handler(request)
}

/** As `traced`, in a linked trace: for work that no client waits for. */
export function tracedSeparately<Of extends ReadResponse>(stage: StageName, handler: Handler<EdgeRead, Of>) {
  return (request: EdgeRead): Of | Promise<Of> =>
    request.trace?.recorded ? handleIn(request.trace.startLinkedTrace(stage), request, handler) : handler(request)
}

function handleIn<R extends EdgeRequest, Of extends ReadResponse>(span: Span, request: R, handler: Handler<R, Of>) {
  return inSpan(span, () => handler({ ...request, trace: span }), responseAttributes)
}

/** Runs asynchronous work that is not a handler, with a span around it. `args`: of the function. */
export async function traceAsync<Args extends readonly unknown[], T>(
  trace: Trace | undefined,
  stage: StageName,
  work: (...args: Args) => Promise<T>,
  ...args: Args
): Promise<T> {
  return trace?.recorded ? inSpan(trace.startSpan(stage), () => work(...args)) : work(...args)
}

/** Runs synchronous work that is not a handler, with a span around it. `args`: of the function. */
export function traceSync<Args extends readonly unknown[], T>(
  trace: Trace | undefined,
  stage: StageName,
  work: (...args: Args) => T,
  ...args: Args
): T {
  if (!trace?.recorded) return work(...args)
  const span = trace.startSpan(stage)
  try {
    const result = work(...args)
    span.end()
    return result
  } catch (fault) {
    span.end(errorAttributes(fault))
    throw fault
  }
}

async function inSpan<T>(
  span: Span,
  work: () => T | Promise<T>,
  attributesOf?: (result: T) => SpanAttributes,
): Promise<T> {
  try {
    const result = await work()
    span.end(attributesOf?.(result))
    return result
  } catch (fault) {
    span.end(errorAttributes(fault))
    throw fault
  }
}

function requestAttributes(request: EdgeRequest): SpanAttributes {
  const node = onlyNodeOf(request)
  return { route: routeOf(request.endpoint), ...(node !== undefined && { node }) }
}

function responseAttributes(response: ReadResponse): SpanAttributes {
  if (response.kind === 'file') return {}
  const cached = response.kind === 'snapshot' ? response.cached : cachedOf(response)
  return {
    ...(cached && { cache: cacheOutcomeOf(cached.status) }),
    ...(cached?.status.stored && { stored: true }),
    ...(cached?.status.collapsed && { collapsed: true }),
    ...(isPartial(response) && { fault: 'partial' as const }),
  }
}

/** Returns the attributes of an error. A 4xx response is no failure of the span. */
function errorAttributes(fault: unknown): SpanAttributes {
  if (fault instanceof EdgeError) return { error: fault.code, ...(fault.status >= 500 && { fault: 'error' as const }) }
  return { fault: fault instanceof DOMException && fault.name === 'AbortError' ? 'cancelled' : 'error' }
}
