import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { lingerOnClose } from './reject.ts'
/**
 * At most one request of each connection is at work. Node hands out all pipelined requests at
 * once; here they wait in order, and a client that sends too many ahead loses its connection.
 */

export type Serve = (request: IncomingMessage, response: ServerResponse) => void

/** Hangs on its socket: each request looks for it. */
const LANE = Symbol('lane')

interface Connection extends Socket {
  [LANE]?: Lane
}

/** One connection: the request at work, and those behind it. */
interface Lane {
  readonly socket: Socket
  busy: boolean
  /** `performance.now()` of its opening or of its last answer. */
  idleSince: number
  atWork: { readonly request: IncomingMessage; readonly response: ServerResponse } | undefined
  readonly waiting: { readonly request: IncomingMessage; readonly response: ServerResponse }[]
  /** What is to be done when the lane is empty: the refusal of what came after the last good request. */
  last: (() => void) | undefined
  /** Requests that went with it, unanswered. */
  dropped: number
  /** The answer of the request at work has left, or its client has. */
  readonly answered: () => void
}

export interface GateOptions {
  readonly serve: Serve
  /** How many requests may wait behind the one at work. */
  readonly pipelined: number
  /** Hears of each request that goes with its connection, unanswered; `nth` counts those of one connection. */
  dropped?(request: IncomingMessage, nth: number): void
}

export class Gate {
  readonly #lanes = new Set<Lane>()
  readonly #options: GateOptions
  #draining = false
  /** Requests that came while the gate is held; `undefined`: it is open. */
  #held: (() => void)[] | undefined

  constructor(options: GateOptions) {
    this.#options = options
  }

  readonly enter: Serve = (request, response) => {
    const lane = this.#laneOf(request.socket)
    if (lane.last !== undefined || isOver(lane.socket)) {
      request.resume()
      this.#drop(lane, request)
      return
    }
    if (!lane.busy) {
      this.#start(lane, request, response)
      return
    }
    lane.waiting.push({ request, response })
    if (lane.waiting.length > this.#options.pipelined) lane.socket.destroy()
  }

  /** Knows a connection from its beginning on. */
  open(socket: Socket): void {
    this.#laneOf(socket)
  }

  /** Cuts the connections that have nothing at work and have been so for that many milliseconds. */
  closeIdle(longest: number): void {
    const latest = performance.now() - longest
    for (const { socket, busy, idleSince } of this.#lanes) if (!busy && idleSince <= latest) socket.destroy()
  }

  /** From now on every answer closes its connection. */
  drain(): void {
    this.#draining = true
    for (const { atWork } of this.#lanes) if (atWork) closeAfter(atWork.response)
  }

  /** Requests that come from now on wait, unanswered, until the release. */
  hold(): void {
    this.#held ??= []
  }

  release(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const start of held) start()
  }

  /**
   * Runs `refuse` when the requests before the fault are answered, so that no answer takes the place of
   * another; at once where the fault lies in the body of the request at work, which it is then given.
   */
  afterAnswers(socket: Socket, refuse: (atWork?: IncomingMessage) => void): void {
    const lane = this.#laneOf(socket)
    if (lane.last !== undefined) return
    lane.last = () => {
      if (!socket.destroyed) refuse()
    }
    const { atWork } = lane
    if (atWork && !atWork.request.complete) {
      if (atWork.response.headersSent) socket.destroy()
      else if (!socket.destroyed) refuse(atWork.request)
    } else if (!lane.busy) {
      lane.last()
    }
  }

  /** The sockets on which an answer is under way. */
  *writing(): Generator<Socket> {
    for (const lane of this.#lanes) if (lane.atWork) yield lane.socket
  }

  #laneOf(socket: Connection): Lane {
    const known = socket[LANE]
    if (known) return known
    const lane: Lane = {
      socket,
      busy: false,
      idleSince: performance.now(),
      atWork: undefined,
      waiting: [],
      last: undefined,
      answered: () => this.#next(lane),
      dropped: 0,
    }
    socket[LANE] = lane
    this.#lanes.add(lane)
    lingerOnClose(socket)
    socket.once('close', () => this.#lanes.delete(lane))
    return lane
  }

  #start(lane: Lane, request: IncomingMessage, response: ServerResponse): void {
    lane.busy = true
    lane.atWork = { request, response }
    // It comes once for each response.
    response.on('close', lane.answered)
    if (this.#draining) closeAfter(response)
    if (this.#held) this.#held.push(() => this.#options.serve(request, response))
    else this.#options.serve(request, response)
  }

  #drop(lane: Lane, request: IncomingMessage): void {
    lane.dropped += 1
    this.#options.dropped?.(request, lane.dropped)
  }

  /** The next one begins in a turn of its own: other connections come in between. */
  #next(lane: Lane): void {
    lane.atWork = undefined
    if (isOver(lane.socket)) {
      for (const { request } of lane.waiting.splice(0)) this.#drop(lane, request)
      return
    }
    const next = lane.waiting.shift()
    if (next) {
      setImmediate(() => {
        if (!isOver(lane.socket)) return this.#start(lane, next.request, next.response)
        this.#drop(lane, next.request)
        this.#next(lane)
      })
    } else {
      lane.busy = false
      lane.idleSince = performance.now()
      lane.last?.()
    }
  }
}

/** Nothing can be answered on it any more. */
function isOver(socket: Socket): boolean {
  return socket.destroyed || socket.writableEnded
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}
