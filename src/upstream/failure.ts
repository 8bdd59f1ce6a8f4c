/** Why one attempt on a node failed, in words without addresses: they reach the client. */
import type { NodeFault } from '../core/node-call.ts'

export interface Failure {
  readonly fault: NodeFault
  readonly detail: string
  /** Nobody listens there: a certain sign. */
  readonly refused?: true
  /** Refused, or lost before an answer began: a repeat may help, and harms no read. */
  readonly again?: true
}

/** How far the attempt had come. */
export interface Progress {
  readonly sent: boolean
  readonly answered: boolean
}

/** Ends of a connection that say nothing about what was on it. */
const LOST = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])
/** The same, in undici's words; its other socket errors ("bad upgrade", "bad response") are about the answer. */
const LOST_MESSAGES = new Set(['other side closed', 'closed'])

const WORDS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ENOTFOUND', 'host name not known'],
  ['EAI_AGAIN', 'host name not resolved'],
  ['UND_ERR_CONNECT_TIMEOUT', 'no connection in time'],
  ['ETIMEDOUT', 'no connection in time'],
  ['ERR_ADDRESS_NOT_ALLOWED', 'address outside cluster.addresses'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate of another host'],
  ['CERT_HAS_EXPIRED', 'certificate expired'],
  ['UND_ERR_HEADERS_OVERFLOW', 'header too large'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'answer cut short'],
])

/** What undici, TLS or the system reported, as a failure. */
export function explain(error: unknown, { sent, answered }: Progress): Failure {
  const { code, message } = codeOf(error)
  const lost = LOST.has(code) || (code === 'UND_ERR_SOCKET' && LOST_MESSAGES.has(message))
  if (lost && answered) return { fault: 'unreadable', detail: 'answer cut short' }
  if (lost) return { fault: 'unreachable', detail: 'connection lost before an answer', again: true }
  const detail = WORDS.get(code)
  if (code === 'ECONNREFUSED') return { fault: 'unreachable', detail: 'connection refused', refused: true, again: true }
  // TLS 1.3 tells of a refused client certificate only after the first bytes.
  const ofTls = /^(?:ERR_SSL_|EPROTO$)/.test(code)
  if (sent && !ofTls) return { fault: 'unreadable', detail: detail ?? `answer is not HTTP/1.1 (${code})` }
  return { fault: 'unreachable', detail: detail ?? `no ${ofTls ? 'TLS ' : ''}connection (${code})` }
}

function codeOf(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'unknown', message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { code, message: error.message }
}
