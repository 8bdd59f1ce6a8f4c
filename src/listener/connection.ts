/**
 * One connection and its requests. It handles at most one request at a time: Node emits all pipelined requests at once, and
 * here they are queued in order. A connection with too many of them is closed.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { replaceClose } from './node-internals.ts'
import { closeGracefully } from './reject.ts'
import { mayStartNow, startLater } from './request-starts.ts'

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export interface ConnectionOptions {
  readonly handle: RequestListener
  /** Requests that may be queued behind the current one. */
  readonly maxPipelined: () => number
  /** Called for each request that is dropped with the connection; `nth` counts those of the connection. */
  onDrop(request: IncomingMessage, nth: number): void
}

export class Connection {
  readonly socket: Socket
  /** The request that is being handled, until its response was sent or its client has disconnected. */
  current: Exchange | undefined
  /** There is a current request or a queued one, or the connection is closed. */
  isBusy = false
  /** Requests whose headers were received. */
  requests = 0
  readonly #options: ConnectionOptions
  readonly #queue: Exchange[] = []
  /** The request that starts in a later turn of the event loop. */
  #next: Exchange | undefined
  /** Runs when the queue is empty: it rejects what the client sent after the last valid request. */
  #rejectLast: (() => void) | undefined
  #dropped = 0

  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket
    this.#options = options
    replaceClose(socket, closeGracefully)
  }

  accept(request: IncomingMessage, response: ServerResponse): void {
    this.requests += 1
    if (this.#rejectLast !== undefined || !this.socket.writable) {
      request.resume()
      this.#drop(request)
    } else if (this.isBusy) {
      if (this.#queue.push({ request, response }) > this.#options.maxPipelined()) this.socket.destroy()
    } else if (mayStartNow()) {
      this.#start({ request, response })
    } else {
      this.isBusy = true
      this.#startLater({ request, response })
    }
  }

  /** The last request, while its body is being received. */
  get incomplete(): IncomingMessage | undefined {
    const last = (this.#queue.at(-1) ?? this.#next ?? this.current)?.request
    return last?.complete === false ? last : undefined
  }

  /**
   * Runs `reject` when all earlier requests have been answered, so that their responses keep their order. If the error is
   * in the body of the current request, `reject` runs at once and receives that request.
   */
  rejectAfterResponses(reject: (current?: IncomingMessage) => void): void {
    if (this.#rejectLast !== undefined) return
    const { socket, current } = this
    this.#rejectLast = () => {
      if (!socket.destroyed) reject()
    }
    if (current && !current.request.complete) {
      if (current.response.headersSent) socket.destroy()
      else if (!socket.destroyed) reject(current.request)
    } else if (!this.isBusy) {
      this.#rejectLast()
    }
  }

  #start(exchange: Exchange): void {
    const { request, response } = exchange
    this.isBusy = true
    this.current = exchange
    // Emitted once for each response.
    response.on('close', this.#finish)
    this.#options.handle(request, response)
  }

  #drop(request: IncomingMessage): void {
    this.#dropped += 1
    this.#options.onDrop(request, this.#dropped)
  }

  readonly #finish = (): void => {
    this.current = undefined
    const next = this.#queue.shift()
    // Each request starts in a new turn of the event loop, so that other connections get their turn.
    if (next) this.#startLater(next)
    else if (this.socket.writable) {
      this.isBusy = false
      this.#rejectLast?.()
    }
  }

  #startLater(next: Exchange): void {
    this.#next = next
    startLater(() => this.#startNext(next))
  }

  #startNext(next: Exchange): void {
    this.#next = undefined
    if (!this.socket.writable) {
      for (const { request } of [next, ...this.#queue.splice(0)]) this.#drop(request)
    } else if (this.#rejectLast !== undefined && !next.request.complete) {
      // The error is in the body of this request, which will never be complete.
      this.#rejectLast()
    } else this.#start(next)
  }
}
