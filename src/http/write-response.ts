/**
 * Writes a complete response to the socket in one write. Node would check each header again, combine head and body in
 * a vectored write and wait for one turn of the event loop, which is a third of the cost of a small hit. The bytes are
 * those that Node would write: the same status line, the same headers, followed by `Date`, `Connection` and
 * `Keep-Alive`. Header values contain no line break: the Redis tier checks what it reads from Redis.
 *
 * Head and small body are copied into a buffer that is used again: as strings they were copied twice, and the copies
 * were a third of the garbage of a small hit.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { commonHeaders, headerLines, type Representation } from './representation.ts'

/** Responses up to this size are copied into one buffer: that costs less than a vectored write. */
const BUFFER_BYTES = 20_480
/** Maximum number of unused buffers. A plain socket needs one; with TLS each response uses one until it is sent. */
const MAX_FREE_BUFFERS = 64
const SECOND_MS = 1000

type Response = ServerResponse<IncomingMessage>

/** `id`: of the request. */
export function writeResponse(response: Response, id: string, representation: Representation): void {
  const { status, stableHeaders, headers, bytes } = representation
  const { socket } = response
  const ending = socket === null ? undefined : headEnding(response, socket)
  const reason = STATUS_CODES[status]
  if (socket === null || ending === undefined || reason === undefined) {
    response.writeHead(status, [...commonHeaders(id), ...stableHeaders.pairs, ...headers])
    response.end(bytes)
    return
  }
  const start = `HTTP/1.1 ${status} ${reason}\r\n${headerLines(commonHeaders(id))}`
  const head = `${start}${stableHeaders.text}${headerLines(headers)}${ending}`
  response.statusCode = status
  // The abort signal of the request reads this to distinguish a sent response from a disconnected client.
  response.finished = true
  const body = response.req.method === 'HEAD' ? undefined : bytes
  const length = head.length + (body?.length ?? 0)
  if (length > BUFFER_BYTES) {
    socket.cork()
    socket.write(head, 'latin1')
    socket.write(body ?? '', (error) => finish(response, error))
    socket.uncork()
    return
  }
  const buffer = freeBuffers.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES)
  buffer.write(head, 'latin1')
  body?.copy(buffer, head.length)
  socket.write(buffer.subarray(0, length))
  const sent = (error?: Error | null): void => {
    if (error == null && freeBuffers.length < MAX_FREE_BUFFERS) freeBuffers.push(buffer)
    finish(response, error)
  }
  if (socket.writableLength === 0) sent()
  else socket.write('', sent)
}

/** Node's server ends the exchange at this event, as it does after its own writes. */
function finish(response: Response, error?: Error | null): void {
  if (error == null) response.emit('finish')
}

/** Buffers that no socket reads from any more. */
const freeBuffers: Buffer[] = []

/** The server of a socket; missing in the types of Node. */
interface SocketWithServer {
  readonly server?: { readonly keepAliveTimeout: number; readonly maxRequestsPerSocket: number | null }
}

/** Returns the last lines of the head for a connection that stays open; `undefined`: Node must write the response. */
function headEnding(response: Response, socket: Socket & SocketWithServer): string | undefined {
  if (!response.shouldKeepAlive || response.req.httpVersion !== '1.1') return undefined
  if (!socket.writable || response.hasHeader('connection')) return undefined
  const { keepAliveTimeout = 0, maxRequestsPerSocket } = socket.server ?? {}
  if (keepAliveTimeout <= 0 || (maxRequestsPerSocket ?? 0) > 0) return undefined
  const now = Date.now()
  // `Date` changes once a second. The clock may also be set back.
  if (now >= ending.until || now < ending.until - SECOND_MS || ending.timeout !== keepAliveTimeout) {
    const until = Math.floor(now / SECOND_MS) * SECOND_MS + SECOND_MS
    const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${Math.floor(keepAliveTimeout / SECOND_MS)}`
    ending = { until, timeout: keepAliveTimeout, text: `Date: ${new Date(now).toUTCString()}\r\n${keepAlive}\r\n\r\n` }
  }
  return ending.text
}

let ending = { until: 0, timeout: 0, text: '' }
