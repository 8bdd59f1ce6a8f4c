/**
 * Reads a node's response as foreign input: what a node of the supported manager never sends is rejected, not repaired.
 * Response headers that are not read here (Set-Cookie, Location, ETag, …) are dropped.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Layout, NodeFailure, NodeResponse } from '../core/node-call.ts'
import type { Failure, FailureReason, NodeFault } from '../core/node-faults.ts'
import { PROBLEM_TYPE } from '../core/origins.ts'

/** Why one attempt failed. */
export type CallFailure = Omit<NodeFailure, 'ok' | 'node' | 'sent'>

/** Why a call is not sent. */
export interface Rejection extends Failure {
  readonly ok: false
  readonly fault: 'overloaded' | 'ejected' | 'drained' | 'abandoned' | 'timeout'
  /** Of an ejected node: why its last call failed. */
  readonly lastFault?: NodeFault
  /** Whole seconds. */
  readonly retryAfter: number
}

/** The node refuses every call of this address. `retryAfter`: no attempt is made before; see `block` in `EjectionSettings`. */
export const BLOCKED: CallFailure = {
  fault: 'blocked',
  reason: 'addressBlocked',
  retryAfter: 10,
}

/** How the v3 layout asks for credentials. */
const V3_CHALLENGE = 'Basic realm="OSSEC API"'

/** `personal`: it sets a cookie or repeats credentials. `age`: 0 if it comes from the node itself. */
export interface ResponseHead
  extends Pick<NodeResponse, 'status' | 'type'>,
    Required<Pick<NodeResponse, 'personal' | 'age'>> {
  readonly length: number | undefined
  /** Whether the body is a raw file that is streamed to the client. */
  readonly isStreamed: boolean
}

export interface ResponseExpectation {
  readonly expect: 'bytes' | 'stream' | 'text'
  readonly maxBytes: number
}

/** Rules and settings are XML, lists are text. */
const FILE_TYPES: ReadonlySet<string> = new Set(['text/xml', 'application/xml', 'text/plain'])

/** Parses status and headers. Returns a failure if the response must not be used. */
export function parseResponseHead(
  status: number,
  headers: IncomingHttpHeaders,
  { expect, maxBytes }: ResponseExpectation,
): ResponseHead | CallFailure {
  if (status === 401) {
    const layout = layoutOfRefusal(headers['content-type'], headers['www-authenticate'])
    return { fault: 'refusedCredentials', reason: 'status', about: status, ...(layout && { layout }) }
  }
  // The edge asks for no other protocol (101), and a redirect could lead anywhere. Other interim responses do not get here.
  if (status < 200 || (status > 299 && status < 400) || status > 599) return unreadable('status', status)
  const coding = headers['content-encoding']
  if (coding !== undefined && isEncoded(coding)) return unreadable('encoded')
  const type = parseMediaType(headers['content-type'])
  const length = parseBodyLength(type, headers['content-length'], headers['transfer-encoding'])
  if (length === 'unclear') return unreadable('lengthUnclear')
  if (length !== undefined && length > maxBytes) return tooLarge(maxBytes)
  const isStreamed = expect === 'stream' && status === 200 && FILE_TYPES.has(type)
  if (!isStreamed && !isReadable(type, status, expect)) return unreadable('contentType', type)
  const { age } = headers
  const personal = headers['set-cookie'] !== undefined || headers.authorization !== undefined
  return {
    status,
    type,
    length,
    isStreamed,
    personal,
    age: age === undefined ? 0 : parseAge(age),
  }
}

function layoutOfRefusal(type: HeaderValue, challenge: HeaderValue): Layout | undefined {
  if (parseMediaType(type) === PROBLEM_TYPE) return 'v4'
  return challenge === V3_CHALLENGE ? 'v3' : undefined
}

/** The v4 layout has its own media type for errors, and sends files as text. */
function isReadable(type: string, status: number, expect: ResponseExpectation['expect']): boolean {
  if (type === 'application/json') return true
  if (status !== 200) return type === PROBLEM_TYPE
  return expect === 'text' && (type.startsWith('text/') || type === 'application/xml')
}

export function tooLarge(maxBytes: number): CallFailure {
  return { fault: 'tooLarge', reason: 'bodyTooLarge', about: maxBytes }
}

function unreadable(reason: FailureReason, about?: string | number): CallFailure {
  return { fault: 'unreadable', reason, ...(about !== undefined && { about }) }
}

type HeaderValue = string | string[] | undefined

/** Returns whether the body has a content coding. `identity` is none, and neither is an empty member of a list. */
function isEncoded(codings: string | string[]): boolean {
  return !/^(?:[\s,]|identity)*$/i.test(String(codings))
}

/** The end of such a body shows whether it is complete: the dialects refuse all that is no complete JSON. */
const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', PROBLEM_TYPE])

/**
 * Returns the Content-Length, or `undefined` for a body that is chunked or ends with its connection. Length and coding at
 * once are how responses are smuggled (RFC 9112 section 6.3). Without either, a file that is cut short looks complete.
 */
function parseBodyLength(type: string, length: HeaderValue, coding: HeaderValue): number | undefined | 'unclear' {
  if (coding !== undefined) return length === undefined && /^chunked$/i.test(String(coding)) ? undefined : 'unclear'
  if (length === undefined) return JSON_TYPES.has(type) ? undefined : 'unclear'
  return typeof length === 'string' && /^[0-9]{1,15}$/.test(length) ? Number(length) : 'unclear'
}

const MAX_AGE_SECONDS = 2 ** 31

/** Returns milliseconds. The first member of a list counts, and an invalid one is ignored (RFC 9111 section 5.1). */
function parseAge(value: string | string[]): number {
  const [, seconds = '0'] = /^(\d+)\s*(?:,|$)/.exec(String(value)) ?? []
  return Math.min(Number(seconds), MAX_AGE_SECONDS) * 1000
}

/** Returns `none` for a malformed type, so that error messages contain well-formed types only. */
function parseMediaType(value: HeaderValue): string {
  const type = typeof value === 'string' ? (value.split(';')[0] ?? '').trim().toLowerCase() : ''
  return /^[a-z0-9.+-]{1,64}\/[a-z0-9.+-]{1,64}$/.test(type) ? type : 'none'
}

/** Error codes of a lost connection. */
const CONNECTION_LOST = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED', 'UND_ERR_DESTROYED', 'UND_ERR_CLOSED'])
/** The same as messages of UND_ERR_SOCKET; its other messages ("bad upgrade", "bad response") concern the response. */
const CONNECTION_LOST_MESSAGES = new Set(['other side closed', 'closed'])

const REASONS: ReadonlyMap<string, FailureReason> = new Map([
  ['ECONNREFUSED', 'connectionRefused'],
  ['ENOTFOUND', 'hostNotFound'],
  ['EAI_AGAIN', 'hostNotResolved'],
  ['UND_ERR_CONNECT_TIMEOUT', 'connectionTimedOut'],
  ['ETIMEDOUT', 'connectionTimedOut'],
  ['ERR_ADDRESS_NOT_ALLOWED', 'addressNotAllowed'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificateOfOtherHost'],
  ['CERT_HAS_EXPIRED', 'certificateExpired'],
  ['UND_ERR_HEADERS_OVERFLOW', 'headerTooLarge'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'cutShort'],
])

/** Returns the failure that an error of undici, TLS or the system means. `sent`, `answered`: how far the attempt got. */
export function failureOf(
  error: unknown,
  { sent, answered }: { readonly sent: boolean; readonly answered: boolean },
): CallFailure {
  const { code, message } = codeOf(error)
  const lost = CONNECTION_LOST.has(code) || (code === 'UND_ERR_SOCKET' && CONNECTION_LOST_MESSAGES.has(message))
  if (lost && answered) return unreadable('cutShort')
  if (lost) return { fault: 'unreachable', reason: 'connectionLost', retryable: true }
  const reason = REASONS.get(code)
  if (reason === 'connectionRefused') return { fault: 'unreachable', reason, refused: true, retryable: true }
  // With TLS 1.3 a node refuses the client certificate only after the first bytes were sent.
  const isTlsError = /^(?:ERR_SSL_|EPROTO$)/.test(code)
  if (sent && !isTlsError) return unreadable(reason ?? 'notHttp', code)
  return { fault: 'unreachable', reason: reason ?? (isTlsError ? 'noTls' : 'noConnection'), about: code }
}

function codeOf(error: unknown): { code: string; message: string } {
  if (!(error instanceof Error)) return { code: 'unknown', message: '' }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { code, message: error.message }
}
