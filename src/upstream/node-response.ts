import type { IncomingHttpHeaders } from 'node:http'
import type { NodeFault } from '../core/node-call.ts'

/**
 * The head of a node's answer, which is foreign input (security.md, API10): what no node of ours says is
 * refused, not repaired. Headers that are not read here (Set-Cookie, Location, ETag, …) end here.
 */

export interface Head {
  readonly status: number
  /** Media type without parameters, in lower case. */
  readonly type: string
  readonly length?: number
  /** A raw file: to be passed on as it comes. */
  readonly streamed: boolean
  /** It speaks to one caller: it sets a cookie, or says credentials again. */
  readonly personal: boolean
}

export interface Expected {
  readonly expect: 'bytes' | 'stream'
  /** Bytes. */
  readonly most: number
}

export function readHead(status: number, headers: IncomingHttpHeaders, expected: Expected): Head | Failure {
  const single = (name: string) => (Object.hasOwn(headers, name) ? headers[name] : undefined)
  if (status === 401) return { fault: 'refusedCredentials', detail: 'status 401' }
  // Nothing that the edge asks is answered by 1xx or a redirect; a redirect could lead anywhere.
  if (status < 200 || (status > 299 && status < 400) || status > 599) return unreadable(`status ${status}`)
  if (single('content-encoding') !== undefined) return unreadable('Content-Encoding was not asked for')
  const length = bodyLength(single('content-length'), single('transfer-encoding'))
  if (length === 'unclear') return unreadable('length of the body is not clear')
  if (length !== undefined && length > expected.most) return tooLarge(expected.most)
  const type = mediaType(single('content-type'))
  const streamed = expected.expect === 'stream' && status === 200 && type === 'text/xml'
  if (!streamed && type !== 'application/json') return unreadable(`content type ${type}`)
  const personal = single('set-cookie') !== undefined || single('authorization') !== undefined
  return { status, type, ...(length !== undefined && { length }), streamed, personal }
}

export function tooLarge(most: number): Failure {
  return { fault: 'tooLarge', detail: `more than ${most} bytes` }
}

function unreadable(detail: string): Failure {
  return { fault: 'unreadable', detail }
}

/**
 * One Content-Length or `chunked`: both at once is how answers are smuggled (RFC 9112 section 6.3), and
 * neither means that a cut answer looks like a whole one.
 */
function bodyLength(length: Value, coding: Value): number | undefined | 'unclear' {
  if (length === undefined) return coding === 'chunked' ? undefined : 'unclear'
  if (coding !== undefined || typeof length !== 'string' || !/^[0-9]{1,15}$/.test(length)) return 'unclear'
  return Number(length)
}

/** Only a well-formed type is named in a message. */
function mediaType(value: Value): string {
  const type = typeof value === 'string' ? (value.split(';')[0] ?? '').trim().toLowerCase() : ''
  return /^[a-z0-9.+-]{1,64}\/[a-z0-9.+-]{1,64}$/.test(type) ? type : 'none'
}

type Value = string | string[] | undefined

/**
 * The bytes of one answer. They are copied together as they come: a node that sends a byte at a time would
 * otherwise cost a hundred bytes of bookkeeping for each, and the cap on the answer would cap nothing.
 */
const FIRST = 16 * 1024
/** A Content-Length is believed up to here; beyond it, room is made as bytes come. */
const BELIEVED = 1024 * 1024

export class Collected {
  #room: Buffer
  #length = 0

  constructor(announced: number | undefined) {
    this.#room = Buffer.allocUnsafeSlow(Math.min(announced ?? FIRST, BELIEVED))
  }

  add(chunk: Buffer): void {
    const needed = this.#length + chunk.length
    if (needed > this.#room.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#room.length * 2))
      this.#room.copy(larger, 0, 0, this.#length)
      this.#room = larger
    }
    this.#length += chunk.copy(this.#room, this.#length)
  }

  /** Exactly as large as the answer: one that is kept would keep the spare room as well. */
  bytes(): Buffer {
    if (this.#length === this.#room.length) return this.#room
    const exact = Buffer.allocUnsafeSlow(this.#length)
    this.#room.copy(exact, 0, 0, this.#length)
    return exact
  }
}

/** Why one attempt on a node failed, in words without addresses: they reach the client. */

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
