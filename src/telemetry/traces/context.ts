/**
 * W3C Trace Context: the headers `traceparent` and `tracestate`, by which a trace of a proxy continues here and on the
 * nodes. Parsing is strict: a header that violates the specification counts as absent.
 */

export interface ParentContext {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
  /** The flags that are defined: bit 0 sampled, bit 1 random trace id. */
  readonly flags: number
  /** `tracestate`, as received but without blanks between its members. */
  readonly state?: string
}

/** Section 3.2.2. Version 00 ends after the flags; a later version may continue after another hyphen. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]*)?$/
const MAX_TRACEPARENT_LENGTH = 256
export const SAMPLED_FLAG = 1
const DEFINED_FLAGS = 3
/** Section 3.3.1.1: at least 512 characters should be propagated, in at most 32 members. */
const MAX_TRACESTATE_LENGTH = 512
const MAX_TRACESTATE_MEMBERS = 32
/** Section 3.3.1.3. */
const MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** Parses the two headers, with several of one name joined by commas as Node does. Returns `undefined` if invalid. */
export function parseTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): ParentContext | undefined {
  if (traceparent === undefined || traceparent.length > MAX_TRACEPARENT_LENGTH) return undefined
  const [, version, traceId = '', spanId = '', hexFlags = '', rest] = TRACEPARENT.exec(traceparent) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const state = parseTracestate(tracestate)
  const flags = Number.parseInt(hexFlags, 16) & DEFINED_FLAGS
  return {
    traceId,
    spanId,
    sampled: (flags & SAMPLED_FLAG) === SAMPLED_FLAG,
    flags,
    ...(state !== undefined && { state }),
  }
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

/** A `tracestate` is propagated as a whole or not at all: dropping single members would change its meaning. */
function parseTracestate(tracestate: string | undefined): string | undefined {
  if (tracestate === undefined || tracestate.length > MAX_TRACESTATE_LENGTH) return undefined
  const members = tracestate.split(',').map((member) => member.trim())
  const present = members.filter((member) => member !== '')
  const keys = new Set(present.map((member) => member.slice(0, member.indexOf('='))))
  const isValid = present.every((member) => MEMBER.test(member))
  return isValid && members.length <= MAX_TRACESTATE_MEMBERS && keys.size === present.length && present.length > 0
    ? present.join(',')
    : undefined
}
