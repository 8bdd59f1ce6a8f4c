import { EdgeError } from './errors.ts'
import type { CacheOutcome } from './events.ts'
import { cacheOutcomeOf } from './events.ts'
import type { NodeFault } from './node-call.ts'
import type { EdgeRequest, Handler } from './request.ts'
import type { EdgeResponse } from './response.ts'

/**
 * Where the time of a request goes, in the core's own words. A request that nobody traces has none of it, and pays
 * nothing for it.
 */

/**
 * All that a span may say: names of the catalogue and of the settings, numbers, and words of a closed kind. There is no
 * place in it for a URL, a value, a header or a body.
 */
export interface SpanAttributes {
  readonly requestId?: string
  readonly method?: string
  /** A template of the catalogue, or `unknown`. */
  readonly route?: string
  /** 0: nothing was answered. */
  readonly status?: number
  readonly scheme?: 'http' | 'https'
  /** Of HTTP, `1.1`. */
  readonly protocol?: string
  readonly node?: string
  readonly group?: string
  readonly cache?: CacheOutcome
  readonly stored?: boolean
  /** The answer is that of a call which another request had begun. */
  readonly collapsed?: boolean
  /** The call is sent once more. */
  readonly resend?: number
  /** The number of an error of the edge's own. */
  readonly error?: number
  /** What failed; there only where something did. */
  readonly fault?: NodeFault | 'error' | 'partial'
}

/** The stages of the road, outermost first, and what goes on beside it. */
export type StageName =
  | 'authenticate'
  | 'authorise'
  | 'validate'
  | 'audit'
  | 'answer'
  | 'cache'
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

/** A place in a trace, under which further spans may begin. */
export interface Trace {
  readonly traceId: string
  /** W3C Trace Context section 3.2: what a node that is called within this span is told. */
  readonly parent: string
  /** W3C Trace Context section 3.3, as it came. */
  readonly state?: string
  /** `false`: nobody wants to know more, and `parent` is only handed on. */
  readonly recorded: boolean
  startSpan(stage: StageName, facts?: SpanAttributes): Span
  /** A call to a node. */
  startCallSpan(facts: SpanAttributes): Span
  /** A trace of its own, linked to this one: work that goes on whether or not the request does. */
  startLinkedTrace(stage: StageName): Span
}

export interface Span extends Trace {
  /** To be called once. */
  end(facts?: SpanAttributes): void
}

/** Spans around the parts of the road; where nobody traces, the parts alone. */

/** What is answered at once stays so where nobody traces. */
export function traced(stage: StageName, handle: Handler): Handler {
  return (ask) => (ask.trace?.recorded ? inSpan(ask.trace.startSpan(stage, ofAsk(ask)), ask, handle) : handle(ask))
}

/** What nobody waits for, in a trace of its own. */
export function tracedSeparately(stage: StageName, handle: Handler): Handler {
  return (ask) => (ask.trace?.recorded ? inSpan(ask.trace.startLinkedTrace(stage), ask, handle) : handle(ask))
}

/** Work that takes time and is no stage of its own type. */
export async function traceAsync<T>(trace: Trace | undefined, stage: StageName, work: () => Promise<T>): Promise<T> {
  if (!trace?.recorded) return work()
  const span = trace.startSpan(stage)
  try {
    const done = await work()
    span.end()
    return done
  } catch (fault) {
    span.end(errorAttributes(fault))
    throw fault
  }
}

/** The same of work that is done at once. */
export function traceSync<T>(trace: Trace | undefined, stage: StageName, work: () => T): T {
  if (!trace?.recorded) return work()
  const span = trace.startSpan(stage)
  try {
    const done = work()
    span.end()
    return done
  } catch (fault) {
    span.end(errorAttributes(fault))
    throw fault
  }
}

async function inSpan(span: Span, ask: EdgeRequest, handle: Handler): Promise<EdgeResponse> {
  try {
    const answer = await handle({ ...ask, trace: span })
    span.end(ofAnswer(answer))
    return answer
  } catch (fault) {
    span.end(errorAttributes(fault))
    throw fault
  }
}

function ofAsk({ endpoint, node }: EdgeRequest): SpanAttributes {
  return { route: endpoint.path, ...(node !== undefined && { node }) }
}

function ofAnswer(answer: EdgeResponse): SpanAttributes {
  if (answer.kind !== 'json') return {}
  const { cached: kept, partial } = answer
  return {
    ...(kept && { cache: cacheOutcomeOf(kept.status) }),
    ...(kept?.status.stored && { stored: true }),
    ...(kept?.status.collapsed && { collapsed: true }),
    ...(partial && { fault: 'partial' as const }),
  }
}

/** A refusal is an answer; only what the edge or a node failed of is a failure. */
export function errorAttributes(fault: unknown): SpanAttributes {
  if (fault instanceof EdgeError) return { error: fault.code, ...(fault.status >= 500 && { fault: 'error' as const }) }
  return { fault: fault instanceof DOMException && fault.name === 'AbortError' ? 'cancelled' : 'error' }
}
