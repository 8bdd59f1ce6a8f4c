/** Refusals in front of the framework: `{"error":n,"message":"…"}`, and the connection is closed. */
import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { EdgeError } from '../errors.ts'
import { linger } from './linger.ts'

/** Answers a request that was parsed. */
export function refuse(response: ServerResponse, error: EdgeError): void {
  response.writeHead(error.status, headersOf(error))
  response.end(bodyOf(error))
}

/** Answers on the bare socket, where there is no request to answer. */
export function refuseSocket(socket: Socket, error: EdgeError): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const lines = Object.entries(headersOf(error)).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${bodyOf(error)}`)
  linger(socket)
}

/** Node's words for what its parser refused; `urlLimit` tells a long URL from long headers. */
export function parserFault(fault: unknown, urlLimit: number): EdgeError {
  const { code, rawPacket } = fault as { code?: unknown; rawPacket?: unknown }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new EdgeError(906)
  if (code !== 'HPE_HEADER_OVERFLOW') return new EdgeError(900)
  const firstLine = Buffer.isBuffer(rawPacket) ? rawPacket.indexOf('\n') : 0
  return new EdgeError(firstLine === -1 || firstLine > urlLimit ? 908 : 907)
}

function headersOf(error: EdgeError): Record<string, string> {
  return {
    ...error.headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(bodyOf(error))),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  }
}

function bodyOf(error: EdgeError): string {
  return JSON.stringify({ error: error.code, message: error.message })
}
