/** Error responses to requests that are rejected before a handler, which close the connection. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { EdgeError } from '../core/errors.ts'

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
