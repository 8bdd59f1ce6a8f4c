/**
 * Rejects requests that HTTP parsers can read in two ways, or that are larger than necessary, before anything else
 * reads them (RFC 9110, RFC 9112). Node's parser rejects the rest. The connection is closed after the error response.
 */
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { EdgeError } from '../core/errors.ts'

export interface FramingLimits {
  /** Bytes of all header names and values. */
  readonly headers: number
  readonly headerCount: number
  /** Bytes of the URL. */
  readonly url: number
}

export type MethodsAt = (path: string) => readonly string[]

export interface FramingRules {
  readonly limits: FramingLimits
  /** Host names that are served, in lower case; empty: all. */
  readonly hosts: readonly string[]
  /** OPTIONS is served. */
  readonly cors: boolean
  readonly methodsAt: MethodsAt
}

export const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE']
/** No endpoint has the method PATCH. It is passed on so that it is answered as by the real API, with 404 and 603. */
const PASSED_ON: ReadonlySet<string> = new Set([...METHODS, 'PATCH'])

/** Adds the rules that do not depend on the settings. */
export function withRules<Settings extends Pick<FramingRules, 'limits' | 'hosts'>>(
  settings: Settings,
  { cors, methodsAt = () => METHODS }: { readonly cors: boolean; readonly methodsAt?: MethodsAt | undefined },
): Settings & FramingRules {
  return { ...settings, hosts: settings.hosts.map((host) => host.toLowerCase()), cors, methodsAt }
}

/** Headers that must not be repeated: two recipients could each use another one of the values. */
const SINGLE_HEADERS = new Set([
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'authorization',
  'transfer-encoding',
  'expect',
])
const SINGLE_LENGTHS = new Set([...SINGLE_HEADERS].map((name) => name.length))
/** With these methods a body is an error. With GET and DELETE it is read and ignored (http/body.ts): libraries send `{}`. */
const METHODS_WITHOUT_BODY = new Set(['HEAD', 'OPTIONS'])
/** A target in absolute form, which clients with a proxy setting send (RFC 9112 section 3.2.2): its origin and authority. */
const ORIGIN = /^https?:\/\/([^/?#]*)/i
const HOST = /^(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/

/** Returns why this request is rejected, and its connection closed; `undefined`: it is passed on. */
export function framingError(request: IncomingMessage, rules: FramingRules): EdgeError | undefined {
  return (
    sizeError(request, rules.limits) ??
    repeatedHeaderError(request.rawHeaders) ??
    targetError(request, rules) ??
    hostError(request, rules.hosts) ??
    bodyError(request)
  )
}

function sizeError({ url = '', rawHeaders }: IncomingMessage, limits: FramingLimits): EdgeError | undefined {
  if (url.length > limits.url) return new EdgeError(908)
  // Node drops headers beyond its own limit silently, and the dropped header may be the one that counts.
  if (rawHeaders.length / 2 > limits.headerCount) return new EdgeError(907, `; more than ${limits.headerCount}`)
  let bytes = 0
  for (const text of rawHeaders) bytes += text.length
  return bytes > limits.headers ? new EdgeError(907) : undefined
}

/** Node keeps the first of several and drops the others, so only the raw headers show them. */
function repeatedHeaderError(rawHeaders: readonly string[]): EdgeError | undefined {
  const seen: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const text = rawHeaders[i] ?? ''
    // Most headers are excluded by their length, which costs less than their lower case.
    if (!SINGLE_LENGTHS.has(text.length)) continue
    const name = text.toLowerCase()
    if (!SINGLE_HEADERS.has(name)) continue
    if (seen.includes(name))
      return name === 'content-type' ? new EdgeError(607) : new EdgeError(900, `; two ${name} headers`)
    seen.push(name)
  }
  return undefined
}

export function pathOf(target: string): string {
  const [origin] = ORIGIN.exec(target) ?? []
  if (origin === undefined) return target
  const rest = target.slice(origin.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

function targetError(request: IncomingMessage, { cors, methodsAt }: FramingRules): EdgeError | undefined {
  const { method = '', url = '', httpVersion, headers } = request
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new EdgeError(900, '; only HTTP/1.1 and HTTP/1.0')
  // Another protocol on the same socket would bypass every check. Java clients offer h2c with each request, and go on without.
  if (headers.upgrade !== undefined && !isIgnoredUpgrade(headers)) return new EdgeError(900, '; no upgrade is offered')
  const path = pathOf(url)
  const isPath = /^\/[\x21\x22\x24-\x7e]*$/.test(path)
  const isPassedOn = PASSED_ON.has(method) || (cors && method === 'OPTIONS')
  if (!isPassedOn || url === '*') {
    const methods = isPath ? methodsAt(path) : METHODS
    return new EdgeError(905, '', { headers: { allow: (cors ? [...methods, 'OPTIONS'] : methods).join(', ') } })
  }
  return isPath ? undefined : new EdgeError(900, '; the target must be a path')
}

/** Whether the request offers a change to HTTP/2 and nothing else. A server may ignore the offer (RFC 9110 section 7.8). */
export function isIgnoredUpgrade({ upgrade }: IncomingHttpHeaders): boolean {
  return upgrade?.toLowerCase() === 'h2c'
}

function hostError(
  { url = '', headers, httpVersion }: IncomingMessage,
  hosts: readonly string[],
): EdgeError | undefined {
  const authority = ORIGIN.exec(url)?.[1]
  const { host } = headers
  if (host !== undefined && !HOST.test(host)) return new EdgeError(900, '; Host is no name')
  if (authority !== undefined && !HOST.test(authority)) return new EdgeError(900, '; the target names no host')
  // Health checks of load balancers use HTTP/1.0 without a Host header.
  if (host === undefined && httpVersion !== '1.0') return new EdgeError(900, '; no Host')
  // The authority of the target counts, not the Host header (RFC 9112 section 3.2.2).
  const named = authority ?? host
  if (named === undefined || hosts.length === 0) return undefined
  const name = named
    .replace(/:\d+$/, '')
    .replace(/\.$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
  return hosts.includes(name) ? undefined : new EdgeError(910)
}

function bodyError({ method = '', httpVersion, headers }: IncomingMessage): EdgeError | undefined {
  const coding = headers['transfer-encoding']
  const length = headers['content-length']
  if (coding !== undefined) {
    if (length !== undefined) return new EdgeError(900, '; Content-Length beside Transfer-Encoding')
    // With `identity, chunked` and similar values, each hop may find another end of the body.
    if (coding.toLowerCase() !== 'chunked' || httpVersion === '1.0') {
      return new EdgeError(900, '; Transfer-Encoding must be chunked')
    }
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length)) return new EdgeError(900, '; Content-Length is no number')
  if (METHODS_WITHOUT_BODY.has(method) && hasBody(headers)) return new EdgeError(900, `; ${method} takes no body`)
  const expects = headers.expect?.toLowerCase()
  return expects === undefined || expects === '100-continue' ? undefined : new EdgeError(909)
}

/** Returns whether the headers announce a body of at least one byte. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

declare module 'node:http' {
  interface IncomingMessage {
    /** The error that was written to the socket of this request while it was being handled. */
    rejectedWith?: EdgeError
  }
}

/** A request that the listener did not pass on. */
export interface RejectedRequest {
  /** Also sent in the response, if there is one. */
  readonly id: string
  readonly socket: Socket
  /** Absent: the request could not be parsed. */
  readonly request?: IncomingMessage
  /** Absent: the request was dropped with its connection, without a response; `nth` counts those of one connection. */
  readonly error?: EdgeError
  /** Bytes of the body of the response. */
  readonly bytes?: number
  readonly nth?: number
}

/** How the body of such a response is written. */
export interface RejectionForm {
  /** The media type. */
  readonly type: string
  readonly bodyOf: (error: EdgeError) => string
}

/** `{"error":n,"message":"…"}` */
const v3Form: RejectionForm = {
  type: 'application/json; charset=utf-8',
  bodyOf: ({ code, message }) => JSON.stringify({ error: code, message }),
}

interface Rejection {
  readonly error: EdgeError
  readonly type: string
  readonly body: string
}

export function rejectionOf(error: EdgeError, { type, bodyOf } = v3Form): Rejection {
  return { error, type, body: bodyOf(error) }
}

/** Answers a request that was parsed. */
export function rejectRequest(response: ServerResponse, rejection: Rejection, id: string): void {
  response.writeHead(rejection.error.status, headersOf(rejection, id))
  response.end(rejection.body)
}

/** Writes to the bare socket, if there is no response object or it can no longer be used. Returns `false` if the client has disconnected. */
export function rejectSocket(socket: Socket, rejection: Rejection, id?: string): boolean {
  if (!socket.writable) {
    socket.destroy()
    return false
  }
  const { status } = rejection.error
  const lines = Object.entries(headersOf(rejection, id)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${rejection.body}`)
  closeGracefully(socket)
  return true
}

/** Returns the error for an error of Node's parser. `maxUrlBytes` distinguishes a long URL from long headers. */
export function parserError(error: unknown, maxUrlBytes: number): EdgeError {
  const { code, rawPacket } = error as { code?: unknown; rawPacket?: unknown }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new EdgeError(906)
  if (code !== 'HPE_HEADER_OVERFLOW') return new EdgeError(900)
  return new EdgeError(Buffer.isBuffer(rawPacket) && isLongUrl(rawPacket.toString('latin1'), maxUrlBytes) ? 908 : 907)
}

/**
 * Returns whether the URL exceeds the limit. Node passes only the chunk in which it does, and the request line may have begun
 * in an earlier one. Without a space and an end of line, the chunk could be part of a header too; it is taken for a URL.
 */
function isLongUrl(chunk: string, maxUrlBytes: number): boolean {
  const [, method, url = '', version] = /^([A-Z]+ )?([^\s]*)( HTTP\/\d\.\d\r\n)?/.exec(chunk) ?? []
  const isWhole = method !== undefined && version !== undefined
  const isUrl = version !== undefined || (method ?? '').length + url.length === chunk.length
  return isUrl && !(isWhole && url.length <= maxUrlBytes)
}

function headersOf({ error, type, body }: Rejection, id?: string): Record<string, string> {
  return {
    ...(id !== undefined && { 'x-request-id': id }),
    ...error.headers,
    'content-type': type,
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  }
}

const MAX_CLOSE_MS = 2000

/**
 * Closes the write side now, and the whole connection when the client has closed its side or after two seconds. If a
 * socket is closed while bytes of the client are unread, the kernel sends a reset, and the client can lose the response
 * that it is about to read (RFC 9112 section 9.6). So those bytes are read and discarded for a while.
 */
export function closeGracefully(socket: Socket): void {
  if (socket.destroyed || socket.writableEnded) return
  socket.end()
  socket.resume()
  const limit = setTimeout(() => socket.destroy(), MAX_CLOSE_MS)
  socket.once('close', () => clearTimeout(limit))
}
