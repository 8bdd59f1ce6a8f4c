/**
 * Handles at most one request of each connection at a time. Node emits all pipelined requests at once; here they are
 * queued in order, and a connection with too many of them is closed.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { closeGracefully } from './reject.ts'

/** The state of a connection is a property of its socket: each request reads it. */
const STATE = Symbol('connection')

interface ConnectionSocket extends Socket {
  [STATE]?: Connection
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

interface Connection {
  readonly socket: Socket
  isBusy: boolean
  /** `performance.now()` when it was opened or when its last response was sent. */
  idleSince: number
  /** The request that is being handled. */
  current: Exchange | undefined
  readonly queue: Exchange[]
  /** Requests whose headers were received. */
  requests: number
  /** Runs when the queue is empty: it rejects what the client sent after the last valid request. */
  rejectLast: (() => void) | undefined
  /** Requests that were dropped with the connection, without a response. */
  dropped: number
  /** Runs when the response of the current request was sent, or its client has disconnected. */
  readonly finish: () => void
}

export interface PipeliningQueueOptions {
  readonly handle: RequestListener
  /** `pipelined`: requests that may be queued behind the current one, on each connection. */
  readonly maxPipelined: () => number
  /** Called for each request that is dropped with its connection; `nth` counts those of one connection. */
  onDrop?(request: IncomingMessage, nth: number): void
}

export class PipeliningQueue {
  readonly #connections = new Set<Connection>()
  readonly #options: PipeliningQueueOptions
  #isDraining = false
  /** Requests that arrived while the queue is paused; `undefined`: it is not paused. */
  #paused: (() => void)[] | undefined

  constructor(options: PipeliningQueueOptions) {
    this.#options = options
  }

  /** The listener for requests of the server. */
  readonly accept: RequestListener = (request, response) => {
    const connection = this.#connectionOf(request.socket)
    connection.requests += 1
    if (connection.rejectLast !== undefined || isClosed(connection.socket)) {
      request.resume()
      this.#drop(connection, request)
      return
    }
    if (!connection.isBusy) {
      this.#start(connection, { request, response })
      return
    }
    connection.queue.push({ request, response })
    if (connection.queue.length > this.#options.maxPipelined()) connection.socket.destroy()
  }

  /** Registers a new connection, so that it counts as idle from its beginning. */
  readonly open = (socket: Socket): void => {
    this.#connectionOf(socket)
  }

  /** Closes the connections that have had no request for this many milliseconds. */
  closeIdle(idleMs: number): void {
    const latest = performance.now() - idleMs
    for (const { socket, isBusy, idleSince } of this.#connections) if (!isBusy && idleSince <= latest) socket.destroy()
  }

  /** Closes all connections. Node's server closes those without `CONNECT` only: it has detached the others. */
  closeAll(): void {
    for (const { socket } of this.#connections) socket.destroy()
  }

  /** Closes the connection whose socket, or the response on it, has failed with this error. */
  closeFailed(error: unknown): boolean {
    // A socket without an error has `null`.
    if (!(error instanceof Error)) return false
    for (const { socket, current } of this.#connections) {
      if (error !== socket.errored && error !== current?.response.errored) continue
      socket.destroy()
      return true
    }
    return false
  }

  /** From now on, each response closes its connection. */
  drain(): void {
    this.#isDraining = true
    for (const { current } of this.#connections) if (current) closeAfter(current.response)
  }

  /** Requests that arrive from now on wait until `resume`. */
  pause(): void {
    this.#paused ??= []
  }

  resume(): void {
    const paused = this.#paused ?? []
    this.#paused = undefined
    for (const start of paused) start()
  }

  /**
   * Runs `reject` when all earlier requests of the connection have been answered, so that their responses keep their
   * order. If the error is in the body of the current request, `reject` runs at once and receives that request.
   */
  rejectAfterResponses(socket: Socket, reject: (current?: IncomingMessage) => void): void {
    const connection = this.#connectionOf(socket)
    if (connection.rejectLast !== undefined) return
    connection.rejectLast = () => {
      if (!socket.destroyed) reject()
    }
    const { current } = connection
    if (current && !current.request.complete) {
      if (current.response.headersSent) socket.destroy()
      else if (!socket.destroyed) reject(current.request)
    } else if (!connection.isBusy) {
      connection.rejectLast()
    }
  }

  /** Node no longer serves this connection: `connect` was emitted. Responses to earlier requests are still sent in full. */
  detached(socket: Socket): void {
    const connection = this.#connectionOf(socket)
    // Node's listener did this. Without it, a response that is sent in parts stops when the client reads slowly.
    socket.on('drain', () => connection.current?.response.emit('drain'))
    // Discards what follows: while bytes are unread, the end of the connection is not seen.
    socket.resume()
  }

  /** Returns the number of requests whose headers were received, and the last one while its body is being received. */
  progressOf(socket: Socket): { readonly requests: number; readonly incomplete: IncomingMessage | undefined } {
    const { requests, queue, current } = this.#connectionOf(socket)
    const last = (queue.at(-1) ?? current)?.request
    return { requests, incomplete: last?.complete === false ? last : undefined }
  }

  /** The sockets whose current request is being handled, or whose response is being sent. */
  *busySockets(): Generator<Socket> {
    for (const { isBusy, socket } of this.#connections) if (isBusy) yield socket
  }

  #connectionOf(socket: ConnectionSocket): Connection {
    const known = socket[STATE]
    if (known) return known
    const connection: Connection = {
      socket,
      isBusy: false,
      idleSince: performance.now(),
      current: undefined,
      queue: [],
      requests: 0,
      rejectLast: undefined,
      finish: () => this.#next(connection),
      dropped: 0,
    }
    socket[STATE] = connection
    this.#connections.add(connection)
    // Node's HTTP server ends connections by `destroySoon`.
    socket.destroySoon = () => closeGracefully(socket)
    socket.once('close', () => this.#connections.delete(connection))
    return connection
  }

  #start(connection: Connection, exchange: Exchange): void {
    const { request, response } = exchange
    connection.isBusy = true
    connection.current = exchange
    // Emitted once for each response.
    response.on('close', connection.finish)
    if (this.#isDraining) closeAfter(response)
    if (this.#paused) this.#paused.push(() => this.#options.handle(request, response))
    else this.#options.handle(request, response)
  }

  #drop(connection: Connection, request: IncomingMessage): void {
    connection.dropped += 1
    this.#options.onDrop?.(request, connection.dropped)
  }

  /** Each request starts in a new turn of the event loop, so that other connections get their turn. */
  #next(connection: Connection): void {
    connection.current = undefined
    if (isClosed(connection.socket)) {
      for (const { request } of connection.queue.splice(0)) this.#drop(connection, request)
      return
    }
    const next = connection.queue.shift()
    if (next) {
      setImmediate(() => {
        if (isClosed(connection.socket)) {
          this.#drop(connection, next.request)
          this.#next(connection)
        } else if (connection.rejectLast !== undefined && !next.request.complete) {
          // The error is in the body of this request, which will never be complete.
          connection.rejectLast()
        } else this.#start(connection, next)
      })
    } else {
      connection.isBusy = false
      connection.idleSince = performance.now()
      connection.rejectLast?.()
    }
  }
}

/** Nothing can be sent on it any more. */
function isClosed(socket: Socket): boolean {
  return socket.destroyed || socket.writableEnded
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}
