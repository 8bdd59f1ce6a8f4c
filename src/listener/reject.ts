import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { EdgeError } from '../core/errors.ts'

/** Refusals in front of the framework: `{"error":n,"message":"…"}`, and the connection is closed. */

declare module 'node:http' {
  interface IncomingMessage {
    /** It was answered with this on its bare socket, while it was at work. */
    refusedWith?: EdgeError
  }
}

/** A request that gets no further than the listener. */
export interface Stopped {
  /** In the answer as well, where there is one. */
  readonly id: string
  readonly socket: Socket
  /** Absent: it could not be read. */
  readonly request?: IncomingMessage
  /** Absent: it went with its connection, unanswered; `nth` counts those of one connection. */
  readonly error?: EdgeError
  readonly nth?: number
}

/** Answers a request that was parsed. */
export function refuse(response: ServerResponse, error: EdgeError, id: string): void {
  response.writeHead(error.status, headersOf(error, id))
  response.end(bodyOf(error))
}

/** Answers on the bare socket, where there is no request to answer, or it can no longer be. `false`: nobody is there. */
export function refuseSocket(socket: Socket, error: EdgeError, id?: string): boolean {
  if (!socket.writable) {
    socket.destroy()
    return false
  }
  const lines = Object.entries(headersOf(error, id)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${bodyOf(error)}`)
  linger(socket)
  return true
}

/** Node's words for what its parser refused; `urlLimit` tells a long URL from long headers. */
export function parserFault(fault: unknown, urlLimit: number): EdgeError {
  const { code, rawPacket } = fault as { code?: unknown; rawPacket?: unknown }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new EdgeError(906)
  if (code !== 'HPE_HEADER_OVERFLOW') return new EdgeError(900)
  const firstLine = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf('\n') : 0
  return new EdgeError(firstLine === -1 || firstLine > urlLimit ? 908 : 907)
}

function headersOf(error: EdgeError, id?: string): Record<string, string> {
  return {
    ...(id !== undefined && { 'x-request-id': id }),
    ...error.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(bodyOf(error))),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  }
}

/** Of such a refusal, as sent. */
export function bodyOf(error: EdgeError): string {
  return JSON.stringify({ error: error.code, message: error.message })
}

/**
 * Closing without cutting off the last answer. A socket that is closed while bytes of the client are still
 * unread makes the kernel send a reset, and the client may lose the answer that it was about to read (RFC 9112,
 * section 9.6). So the write side is closed first, and what still comes is read and dropped for a while.
 */

const LONGEST = 2000

/** Ends the write side now, the whole connection when the client has ended too, or after two seconds. */
export function linger(socket: Socket): void {
  if (socket.destroyed || socket.writableEnded) return
  socket.end()
  socket.resume()
  const limit = setTimeout(() => socket.destroy(), LONGEST)
  socket.once('close', () => clearTimeout(limit))
}

/** Node's HTTP server ends connections by `destroySoon`; on this socket that means to linger. */
export function lingerOnClose(socket: Socket): void {
  socket.destroySoon = () => linger(socket)
}
