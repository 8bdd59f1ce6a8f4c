/** Events of traces made by hand: replica a writes register 001, and replica b reads it, unless a test names another replica. */
import type { ClientRequest, EpochChange, TraceEvent } from './record.ts'
import { checkTrace } from './traces.ts'

export const path = '/agents/001/group/w1'
const tags = ['agent:001', 'group:w1']

/** `value`: of the response with status 200. `more`: what differs from that response. */
export function requestOf(method: 'GET' | 'PUT', begin: number, end: number, value: number, more = {}): ClientRequest {
  const url = method === 'PUT' ? 'http://a' : 'http://b'
  const to = method === 'PUT' ? path : '/agents/001'
  return { method, key: '001', path: to, url, begin, end, status: 200, code: 0, value, ...more }
}

export function client(request: ClientRequest): TraceEvent[] {
  return [
    { kind: 'begin', at: request.begin, request },
    { kind: 'end', at: request.end, request },
  ]
}

/** The writer sets or lifts its fence, and Redis publishes the invalidation with this sequence number. */
export function change(
  at: number,
  kind: 'fence' | 'lift',
  sequence: number,
  more: Partial<EpochChange> = {},
): TraceEvent {
  const epochs = { bump: tags, fence: [], lift: [], id: 'f1', [kind]: tags, ...more }
  return { kind: 'change', at, writer: 'a', change: epochs, sequence }
}

export const heartbeat = (at: number, replica: string, lease = 2000): TraceEvent => ({
  kind: 'heartbeat',
  at,
  replica,
  lease,
})
export const acknowledged = (at: number, sequence: number): TraceEvent => ({
  kind: 'acknowledgement',
  at,
  replica: 'b',
  writer: 'a',
  sequence,
})
export const lookup = (at: number, replica = 'b'): TraceEvent => ({ kind: 'lookup', at, replica, key: '001' })
export const node = (at: number, value: number, id: string, to = '/agents/001'): TraceEvent => ({
  kind: 'node',
  at,
  path: to,
  value,
  id,
})

export const inOrder = (list: readonly TraceEvent[]) => ({ events: [...list].sort((one, other) => one.at - other.at) })

/** Returns why the trace is no execution of the specification; empty if it is one. */
export const violationOf = (recording: { readonly events: readonly TraceEvent[] }) =>
  checkTrace(recording).violations[0]?.at(-1) ?? ''
