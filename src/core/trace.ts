/** Spans around the parts of a request. A request that is not traced has no trace and pays nothing for it. */
import { EdgeError } from './errors.ts'
import { type CacheOutcome, cacheOutcomeOf } from './events.ts'
import type { NodeFault } from './node-call.ts'
import type { EdgeRequest, Handler } from './request.ts'
import type { EdgeResponse } from './response.ts'

/**
 * All that a span may contain: names of the catalogue and of the configuration, numbers, and closed sets of words. There
 * is no attribute for a URL, a value, a header or a body.
 */
export interface SpanAttributes {
  readonly requestId?: string
  readonly method?: string
  /** A route template of the catalogue, or `unknown`. */
  readonly route?: string
  /** 0: there was no response. */
  readonly status?: number
  readonly scheme?: 'http' | 'https'
  /** The version of HTTP, such as `1.1`. */
  readonly protocol?: string
  readonly node?: string
  readonly group?: string
  readonly cache?: CacheOutcome
  readonly stored?: boolean
  /** The response is that of a call which another request started. */
  readonly collapsed?: boolean
  /** How many times the call was sent before. */
  readonly resend?: number
  /** The code of an error of the edge. */
  readonly error?: number
  /** What failed; absent on success. */
  readonly fault?: NodeFault | 'error' | 'partial'
}

/** Names of spans, as the collector receives them: the stages of a request, outermost first, and work beside it. */
export type StageName =
  | 'authenticate'
  | 'authorise'
  | 'validate'
  | 'audit'
  | 'answer'
  | 'cache'
  /** The write lock. */
  | 'turn'
  | 'invalidate'
  | 'owner'
  | 'join'
  | 'route'
  | 'forward'
  | 'wait'
  | 'merge'
  | 'reply'
  | 'refresh'
  | 'verify'

/** A place in a trace, under which spans can start. */
export interface Trace {
  readonly traceId: string
  /** W3C Trace Context section 3.2: `traceparent` of calls to nodes within this span. */
  readonly parent: string
  /** W3C Trace Context section 3.3, as it was received. */
  readonly state?: string
  /** `false`: `parent` is only passed on to the nodes. */
  readonly recorded: boolean
  startSpan(stage: StageName, attributes?: SpanAttributes): Span
  /** Starts the span of a call to a node. */
  startCallSpan(attributes: SpanAttributes): Span
  /** Starts a trace that is linked to this one, for work that goes on after the request. */
  startLinkedTrace(stage: StageName): Span
}

export interface Span extends Trace {
  /** To be called once. */
  end(attributes?: SpanAttributes): void
}

/** Returns the handler with a span around it. Without a trace, a synchronous handler stays synchronous. */
export function traced(stage: StageName, handler: Handler): Handler {
  return (request) =>
    request.trace?.recorded
      ? inSpan(request.trace.startSpan(stage, requestAttributes(request)), request, handler)
      : handler(request)
}

/** As `traced`, in a linked trace: for work that no client waits for. */
export function tracedSeparately(stage: StageName, handler: Handler): Handler {
  return (request) =>
    request.trace?.recorded ? inSpan(request.trace.startLinkedTrace(stage), request, handler) : handler(request)
}

/** Runs asynchronous work that is not a handler, with a span around it. */
export async function traceAsync<T>(trace: Trace | undefined, stage: StageName, work: () => Promise<T>): Promise<T> {
  if (!trace?.recorded) return work()
  const span = trace.startSpan(stage)
  try {
    const result = await work()
    span.end()
    return result
  } catch (fault) {
    span.end(errorAttributes(fault))
    throw fault
  }
}

/** Runs synchronous work that is not a handler, with a span around it. */
export function traceSync<T>(trace: Trace | undefined, stage: StageName, work: () => T): T {
  if (!trace?.recorded) return work()
  const span = trace.startSpan(stage)
  try {
    const result = work()
    span.end()
    return result
  } catch (fault) {
    span.end(errorAttributes(fault))
    throw fault
  }
}

async function inSpan(span: Span, request: EdgeRequest, handler: Handler): Promise<EdgeResponse> {
  try {
    const response = await handler({ ...request, trace: span })
    span.end(responseAttributes(response))
    return response
  } catch (fault) {
    span.end(errorAttributes(fault))
    throw fault
  }
}

function requestAttributes({ endpoint, node }: EdgeRequest): SpanAttributes {
  return { route: endpoint.path, ...(node !== undefined && { node }) }
}

function responseAttributes(response: EdgeResponse): SpanAttributes {
  if (response.kind !== 'json') return {}
  const { cached, partial } = response
  return {
    ...(cached && { cache: cacheOutcomeOf(cached.status) }),
    ...(cached?.status.stored && { stored: true }),
    ...(cached?.status.collapsed && { collapsed: true }),
    ...(partial && { fault: 'partial' as const }),
  }
}

/** Returns the attributes of an error. A 4xx response is no failure of the span. */
export function errorAttributes(fault: unknown): SpanAttributes {
  if (fault instanceof EdgeError) return { error: fault.code, ...(fault.status >= 500 && { fault: 'error' as const }) }
  return { fault: fault instanceof DOMException && fault.name === 'AbortError' ? 'cancelled' : 'error' }
}
