/**
 * Rejects requests that do not arrive in time. Node checks its timeouts before it reads the sockets in a turn of the
 * event loop. If this process was busy, or had no processor, the rest of a request may have arrived long ago and not been
 * read. So a late request is rejected only when everything that has arrived was read.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { PipeliningQueue } from './pipelining-queue.ts'

export interface LateRequestOptions {
  readonly queue: Pick<PipeliningQueue, 'progressOf'>
  /** Milliseconds. */
  readonly timeouts: { readonly headers: number; readonly body: number }
  readonly reject: () => void
}

/** Runs `check` when this turn of the event loop has read what arrived on all sockets. */
export function afterReading(check: () => void): void {
  setImmediate(check)
}

/** Calls `reject` unless the request that is being received arrives now. It has no other timeout from here on. */
export function rejectUnlessReceived(socket: Socket, options: LateRequestOptions): void {
  const { queue, timeouts, reject } = options
  const { requests, incomplete } = queue.progressOf(socket)
  const latest = performance.now() + timeouts.headers
  let bytes = socket.bytesRead
  const check = (): void => {
    if (socket.destroyed) return
    const now = queue.progressOf(socket)
    if (incomplete?.complete) return
    if (incomplete === undefined && now.requests > requests) {
      if (now.incomplete) limitBody(now.incomplete, options)
      return
    }
    if (socket.bytesRead === bytes || performance.now() > latest) {
      reject()
      return
    }
    // A large request needs several turns. A slow client does not send in each of them.
    bytes = socket.bytesRead
    afterReading(check)
  }
  afterReading(check)
}

/** Node has dropped its timeout for this request, so the body gets the rest of the time here. */
function limitBody(request: IncomingMessage, options: LateRequestOptions): void {
  const { headers, body } = options.timeouts
  const timer = setTimeout(() => {
    if (!request.complete) rejectUnlessReceived(request.socket, options)
  }, body - headers)
  request.once('close', () => clearTimeout(timer))
}
