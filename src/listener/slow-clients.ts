/**
 * Clients that are too slow. Node checks its timeouts before it reads the sockets in a turn of the event loop. If this
 * process was busy, or had no processor, the rest of a request may have arrived long ago and not been read. So a late
 * request is rejected only when everything that has arrived was read.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Connection } from './connection.ts'

export interface Timeouts {
  /** Until all headers are received. */
  readonly headers: number
  /** Until the whole request is received. */
  readonly body: number
  /** Without progress of a client that reads its response. */
  readonly write: number
  /** Until the body begins after `100 Continue`. */
  readonly expect: number
  /** Between two requests. */
  readonly idle: number
}

/** Calls `reject` unless the request that is being received arrives now. It has no other timeout from here on. */
export function rejectUnlessReceived(connection: Connection, timeouts: Timeouts, reject: () => void): void {
  const { socket, requests, incomplete } = connection
  const latest = performance.now() + timeouts.headers
  let bytes = socket.bytesRead
  const check = (): void => {
    if (socket.destroyed || incomplete?.complete) return
    if (incomplete === undefined && connection.requests > requests) limitBody(connection, timeouts, reject)
    else if (socket.bytesRead === bytes || performance.now() > latest) reject()
    else {
      // A large request needs several turns. A slow client does not send in each of them.
      bytes = socket.bytesRead
      setImmediate(check)
    }
  }
  setImmediate(check)
}

/** Node has dropped its timeout for this request, so the body gets the rest of the time here. */
function limitBody(connection: Connection, timeouts: Timeouts, reject: () => void): void {
  const request = connection.incomplete
  if (request === undefined) return
  const timer = setTimeout(() => {
    if (!request.complete) rejectUnlessReceived(connection, timeouts, reject)
  }, timeouts.body - timeouts.headers)
  request.once('close', () => clearTimeout(timer))
}

/** A body has this many parts of its timeout in which it must arrive at the least rate. */
const BODY_WINDOWS = 6
/** Bytes per second of a body that has begun to arrive. */
const MIN_BODY_RATE = 1024

/**
 * Calls `reject` if a body that has begun to arrive comes at less than the least rate: the bytes that are there already are
 * in memory. Time in which the edge does not read does not count.
 */
export function limitBodyRate(request: IncomingMessage, timeout: number, reject: () => void): void {
  const { socket } = request
  const ms = timeout / BODY_WINDOWS
  let bytes = socket.bytesRead
  const isWaited = () => !request.complete && request.readableDidRead && request.readableLength === 0
  let wasWaited = false
  const timer = setInterval(() => {
    const received = socket.bytesRead - bytes
    bytes += received
    const isSlow = wasWaited && received < (MIN_BODY_RATE * ms) / 1000
    wasWaited = isWaited()
    if (isSlow && wasWaited) setImmediate(() => isWaited() && socket.bytesRead === bytes && reject())
  }, ms).unref()
  request.once('close', () => clearInterval(timer))
}

/**
 * Sends `100 Continue` when the body is first read, and calls `reject` if no body follows within `timeout` milliseconds. A
 * response before that closes the connection, as Node does it: the client may or may not send its body then.
 */
export function continueRequest(
  request: IncomingMessage,
  response: ServerResponse,
  timeout: number,
  reject: () => void,
): void {
  const { socket } = request
  const onListener = (event: string | symbol): void => {
    if (event !== 'data' && event !== 'readable') return
    request.off('newListener', onListener)
    if (response.headersSent || socket.destroyed) return
    const before = socket.bytesRead
    response.writeContinue()
    const check = (): void => {
      if (!request.complete && socket.bytesRead === before && !response.headersSent) reject()
    }
    const timer = setTimeout(() => setImmediate(check), timeout)
    response.once('close', () => clearTimeout(timer))
  }
  request.on('newListener', onListener)
}

/**
 * Closes connections whose client reads nothing of a response, which would otherwise stay in memory. The timeout of
 * Node's sockets also runs while a response is being made, so it is set only while bytes are waiting to be written.
 * `interval`: milliseconds between two checks.
 */
export function closeSlowReaders(
  connections: ReadonlyMap<unknown, Connection>,
  writeTimeout: () => number,
  interval: number,
): NodeJS.Timeout {
  return setInterval(() => {
    const limit = writeTimeout()
    for (const { socket, isBusy } of connections.values()) {
      const timeout = socket.writableLength > 0 ? limit : 0
      if (isBusy && timeout !== (socket.timeout ?? 0)) socket.setTimeout(timeout)
    }
  }, interval).unref()
}
