/** W3C Trace Context: where a trace that a proxy began goes on here, read strictly. What is not as it must be is not there. */

export interface Parent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
  /** Those that are defined: sampled, and that the id of the trace is random. */
  readonly flags: number
  /** As it came. */
  readonly state?: string
}

/** Section 3.2.2, version 00: nothing may follow. Later versions may go on after another hyphen. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]*)?$/
const LONGEST_PARENT = 256
export const SAMPLED = 1
const KNOWN = 3
/** Section 3.3.1.1 wants 512 characters to be handed on, and no more than 32 members. */
const LONGEST_STATE = 512
const MOST_MEMBERS = 32
/** Section 3.3.1.3. */
const MEMBER =
  /^(?:[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** `header` and `state` as Node joins them: several headers of a kind are one text with commas. */
export function readParent(header: string | undefined, state: string | undefined): Parent | undefined {
  if (header === undefined || header.length > LONGEST_PARENT) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(header) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const handedOn = readState(state)
  const known = Number.parseInt(flags, 16) & KNOWN
  return {
    traceId,
    spanId,
    sampled: (known & SAMPLED) === SAMPLED,
    flags: known,
    ...(handedOn !== undefined && { state: handedOn }),
  }
}

/** Always of version 00: another one cannot be written by us (section 4.3). */
export function parentText({ traceId, spanId, flags }: Pick<Parent, 'traceId' | 'spanId' | 'flags'>): string {
  return `00-${traceId}-${spanId}-0${flags}`
}

/** Of a trace that begins with a request: whoever has the id of the request has that of the trace. `undefined`: no UUID. */
export function traceIdOf(requestId: string): string | undefined {
  return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(requestId) ? requestId.replaceAll('-', '') : undefined
}

/** All of it or nothing: a part of it would say something else. */
function readState(state: string | undefined): string | undefined {
  if (state === undefined || state.length > LONGEST_STATE) return undefined
  const members = state.split(',').map((member) => member.trim())
  const written = members.filter((member) => member !== '')
  const keys = new Set(written.map((member) => member.slice(0, member.indexOf('='))))
  const legal = written.every((member) => MEMBER.test(member))
  return legal && members.length <= MOST_MEMBERS && keys.size === written.length && written.length > 0
    ? written.join(',')
    : undefined
}
