/**
 * The types of traces: of spans that a collector receives, and of stages that only the console shows. A prepared
 * hit has neither and pays nothing for it.
 */

import type { CacheOutcome } from './cache.ts'
import type { NodeFault } from './node-faults.ts'

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

/**
 * Names of spans, as the collector receives them: the stages of a request, outermost first, and work beside it. The
 * semantic conventions name only the spans of a request and of a call, which are called `{method} {template}`.
 */
export type StageName =
  | 'authenticate'
  | 'authorise'
  | 'validate'
  | 'audit'
  | 'edge operation'
  | 'cache'
  | 'write lock'
  | 'invalidate'
  | 'owner'
  | 'join'
  | 'route'
  | 'forward'
  | 'login'
  | 'queue'
  | 'merge'
  | 'respond'
  | 'refresh'
  | 'verify'

/** A place in a trace, under which spans can start. */
export interface Trace {
  /** Absent: no collector receives the trace. */
  readonly traceId?: string | undefined
  /** W3C Trace Context section 3.2: `traceparent` of calls to nodes within this span. Absent like `traceId`. */
  readonly parent?: string | undefined
  /** W3C Trace Context section 3.3, as it was received. */
  readonly state?: string | undefined
  /** `false`: `parent` is only passed on to the nodes. */
  readonly recorded: boolean
  startSpan(stage: StageName, attributes?: SpanAttributes): Span
  startCallSpan(attributes: SpanAttributes): Span
  /** Starts a trace that is linked to this one, for work that goes on after the request. */
  startLinkedTrace(stage: StageName): Span
}

export interface Span extends Trace {
  /** To be called once. */
  end(attributes?: SpanAttributes): void
}

/**
 * Begins to record the stages of a request for the console, beside its trace. A request that is recorded already
 * continues its record.
 */
export type RecordStages = (requestId: string, trace: Span | undefined) => Span | undefined
