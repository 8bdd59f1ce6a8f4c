/**
 * Writes a complete response to the socket in one write. Node would check each header again, combine head and body in
 * a vectored write and wait for one turn of the event loop, which is a third of the cost of a small hit. The bytes are
 * those that Node would write: the same status line, the same headers, followed by `Date`, `Connection` and
 * `Keep-Alive`. Header values contain no line break: the Redis tier checks what it reads from Redis.
 *
 * Head and small body are copied into a buffer that is used again: as strings they were copied twice, and the copies
 * were a third of the garbage of a small hit. The bytes of a head are made once for all hits that share it; only the id
 * of the request is written anew.
 */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { commonHeaders, headerLines, type Representation, type ResponseHead } from './representation.ts'

/** Responses up to this size are copied into one buffer: that costs less than a vectored write. */
const BUFFER_BYTES = 20_480
/** Maximum number of unused buffers. A plain socket needs one; with TLS each response uses one until it is sent. */
const MAX_FREE_BUFFERS = 64
const SECOND_MS = 1000

type Response = ServerResponse<IncomingMessage>

/** Called once, when the socket has sent the response, or with the reason why it cannot. */
type OnSent = (error?: Error | null) => void

/** `id`: of the request. */
export function writeResponse(response: Response, id: string, representation: Representation): void {
  const { status, stableHeaders, ownHeaders, bytes } = representation
  const { socket } = response
  const ending = socket === null || !isPlain(response) ? undefined : headEnding(socket)
  if (socket === null || ending === undefined) {
    response.writeHead(status, [...commonHeaders(id), ...stableHeaders.pairs, ...ownHeaders.pairs])
    response.end(bytes)
    return
  }
  response.statusCode = status
  // The abort signal of the request reads this to distinguish a sent response from a disconnected client.
  response.finished = true
  const body = response.req.method === 'HEAD' ? undefined : bytes
  // Node's server ends the exchange at this event, as it does after its own writes.
  const sent = (error?: Error | null): void => {
    if (error == null) response.emit('finish')
  }
  send(socket, id, headOf(id, representation, ending), body, sent)
}

/** Returns the head of the representation. The hits of one second share their own headers, and so their head. */
function headOf(id: string, { status, stableHeaders, ownHeaders }: Representation, ending: string): ResponseHead {
  const known = ownHeaders.head
  const idLength = id.length
  const stableText = stableHeaders.text
  if (
    known?.ending === ending &&
    known.status === status &&
    known.idLength === idLength &&
    known.stableText === stableText
  ) {
    return known
  }
  const start = startOf(status)
  const bytes = Buffer.from(start + id + AFTER_ID + stableText + ownHeaders.text + ending, 'latin1')
  const head = { status, stableText, ending, idLength, idAt: start.length, bytes }
  ownHeaders.head = head
  return head
}

const ID_MARK = '\0'
const [BEFORE_ID = '', AFTER_ID = ''] = headerLines(commonHeaders(ID_MARK)).split(ID_MARK)
const starts = new Map<number, string>()

/** Returns the first bytes of a response, up to the id of its request. */
function startOf(status: number): string {
  let start = starts.get(status)
  if (start === undefined) {
    start = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n${BEFORE_ID}`
    starts.set(status, start)
  }
  return start
}

function send(socket: Socket, id: string, head: ResponseHead, body: Buffer | undefined, sent: OnSent): void {
  const headLength = head.bytes.length
  const length = headLength + (body?.length ?? 0)
  if (length > BUFFER_BYTES) {
    const bytes = Buffer.from(head.bytes)
    bytes.write(id, head.idAt, 'latin1')
    socket.cork()
    socket.write(bytes)
    socket.write(body ?? '', sent)
    socket.uncork()
    return
  }
  const buffer = freeBuffers.pop() ?? newSendBuffer()
  const { whole } = buffer
  head.bytes.copy(whole)
  whole.write(id, head.idAt, 'latin1')
  body?.copy(whole, headLength)
  if (buffer.used.length !== length) buffer.used = whole.subarray(0, length)
  const bytes = buffer.used
  // A TLS socket never completes a write at once. A second, empty write would cost another pass through TLS and socket.
  if (isEncrypted(socket)) {
    socket.write(bytes, (error) => sentFrom(buffer, sent, error))
    return
  }
  socket.write(bytes)
  // A plain socket has usually sent everything by now. A callback would need another turn.
  if (socket.writableLength === 0) sentFrom(buffer, sent)
  else socket.write('', (error) => sentFrom(buffer, sent, error))
}

function sentFrom(buffer: SendBuffer, sent: OnSent, error?: Error | null): void {
  if (error == null && freeBuffers.length < MAX_FREE_BUFFERS) freeBuffers.push(buffer)
  sent(error)
}

interface SendBuffer {
  readonly whole: Buffer
  /** The part that was sent last. The next response often has the same length and then needs no new part. */
  used: Buffer
}

function newSendBuffer(): SendBuffer {
  const whole = Buffer.allocUnsafeSlow(BUFFER_BYTES)
  return { whole, used: whole }
}

/** Buffers that no socket reads from any more. */
const freeBuffers: SendBuffer[] = []

/** Property of TLS sockets; `instanceof` would walk the prototypes for each response. */
function isEncrypted(socket: Socket & { readonly encrypted?: boolean }): boolean {
  return socket.encrypted === true
}

/** Whether the response is HTTP/1.1 on a connection that stays open, with the headers that all such responses have. */
function isPlain(response: Response): boolean {
  return response.shouldKeepAlive && response.req.httpVersion === '1.1' && !response.hasHeader('connection')
}

/** The server of a socket; missing in the types of Node. */
interface SocketWithServer {
  readonly server?: { readonly keepAliveTimeout: number; readonly maxRequestsPerSocket: number | null }
}

/** Returns the last lines of the head for a connection that stays open; `undefined`: Node must write the response. */
function headEnding(socket: Socket & SocketWithServer): string | undefined {
  if (!socket.writable) return undefined
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
