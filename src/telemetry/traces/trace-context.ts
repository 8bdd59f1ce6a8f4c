/**
 * W3C Trace Context: the headers `traceparent` and `tracestate`, by which a trace of a proxy continues here and on the
 * nodes. OpenTelemetry parses them: an invalid `traceparent` counts as absent, and an invalid member of `tracestate` too.
 */
import { createTraceState } from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'

export interface ParentContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
  /** The flags that are defined: bit 0 sampled, bit 1 random trace id. */
  readonly flags: number
  /** `tracestate` with its valid members. */
  readonly state?: string
}

export const SAMPLED_FLAG = 1
const DEFINED_FLAGS = 3

/** Parses the two headers, with several of one name joined by commas as Node does. Returns `undefined` if invalid. */
export function parseTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): ParentContext | undefined {
  const parsed = parseTraceParent(traceparent ?? '')
  if (parsed === null) return undefined
  const { traceId, spanId, traceFlags } = parsed
  const flags = traceFlags & DEFINED_FLAGS
  const state = createTraceState(tracestate).serialize()
  return { traceId, spanId, sampled: (flags & SAMPLED_FLAG) === SAMPLED_FLAG, flags, ...(state !== '' && { state }) }
}

/** Returns the `traceparent` of a span. Always version 00, the only one that can be generated (section 4.3). */
export function formatTraceparent({
  traceId,
  spanId,
  flags,
}: Pick<ParentContext, 'traceId' | 'spanId' | 'flags'>): string {
  return `00-${traceId}-${spanId}-0${flags}`
}

/**
 * Returns the trace id of a request whose trace begins here: its request id without hyphens, so that one can be found
 * from the other. `undefined` if the request id is no UUID.
 */
export function traceIdOf(requestId: string): string | undefined {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(requestId) ? requestId.replaceAll('-', '') : undefined
}
