/**
 * Answers repeated requests in front of Node's HTTP parser. Clients that poll send the same bytes again and again on
 * connections that stay open, and parsing them costs more CPU time than finding their response. What the parser makes of
 * a message depends only on its bytes and on where the message begins. So a chunk that began and ended at the border
 * between two requests, and that was exactly one request, is the same request whenever it is received at such a border.
 *
 * This module decides whether a chunk is such a request. The handler decides whether and how it is answered. Everything
 * else goes to Node's parser unchanged.
 */
import type { Socket } from 'node:net'
import { chunkParserOf, endsWithEmptyLine, type ParseChunk } from './chunk-parser.ts'
import type { PipeliningQueue } from './pipelining-queue.ts'
import {
  FORGOTTEN,
  MAX_REQUEST_BYTES,
  type RememberedRequest,
  RememberedRequests,
  type Responder,
  type UnparsedRequest,
} from './remembered-requests.ts'

/** After this many requests in a row that were no repetition, a connection is not compared for a while. */
const MAX_MISSES = 32
const UNCOMPARED_REQUESTS = 1000

/** What the readers of one server share. */
export class RepeatedRequests {
  readonly queue: PipeliningQueue
  readonly #remembered = new RememberedRequests()
  readonly #rules: () => object
  #rememberedUnder: object

  /** `rules` returns the framing rules: another object after a reload, which forgets all requests. */
  constructor(queue: PipeliningQueue, rules: () => object) {
    this.queue = queue
    this.#rules = rules
    this.#rememberedUnder = rules()
  }

  /** The current rules. */
  get rules(): object {
    return this.#rules()
  }

  /** The remembered requests that are valid under the current rules. */
  get remembered(): RememberedRequests {
    const { rules } = this
    if (this.#rememberedUnder !== rules) {
      this.#rememberedUnder = rules
      this.#remembered.clear()
    }
    return this.#remembered
  }
}

/** Both are properties of the socket: each request that the handler answers reads them. */
const REPEATED = Symbol('repeated requests')
const READER = Symbol('reader')

interface ReadSocket extends Socket {
  [REPEATED]?: RepeatedRequests | undefined
  [READER]?: ConnectionReader
}

/** Lets responders be offered on a connection. Until the first offer, the connection is read by Node alone. */
export function openReader(socket: ReadSocket, repeated: RepeatedRequests): void {
  socket[REPEATED] = repeated
}

/** Returns whether a responder for the request that is being handled on this connection would be used. */
export function wantsResponder(socket: ReadSocket): boolean {
  const reader = socket[READER]
  if (reader !== undefined) return reader.wantsResponder
  const repeated = socket[REPEATED]
  // Not at once: Node's parser is running.
  if (repeated !== undefined) setImmediate(startReader, socket, repeated)
  socket[REPEATED] = undefined
  return false
}

/** Offers a responder for repetitions of the request that is being handled on this connection. */
export function offerResponder(socket: ReadSocket, responder: Responder): void {
  const reader = socket[READER]
  if (reader !== undefined) reader.offered = responder
}

/** Leaves the connection to Node from now on. */
export function closeReader(socket: ReadSocket): void {
  socket[REPEATED] = undefined
  socket[READER]?.close()
}

/** A listener for data makes Node pass on chunks, which its parser reads from the handle of the socket otherwise. */
function startReader(socket: ReadSocket, repeated: RepeatedRequests): void {
  const parseChunk = chunkParserOf(socket)
  if (socket.destroyed || parseChunk === undefined) return
  const reader = new ConnectionReader(socket, repeated, parseChunk)
  socket[READER] = reader
  socket.on('data', reader.receive)
  socket.removeListener('data', parseChunk)
}

/** Receives the chunks of one connection in front of Node's parser. */
class ConnectionReader implements UnparsedRequest {
  readonly socket: Socket
  readonly peer: string
  offered: Responder | undefined
  /** The chunk that is being parsed began at a border and may be remembered. */
  wantsResponder = false
  readonly #repeated: RepeatedRequests
  readonly #parseChunk: ParseChunk
  /** The next byte is certainly the first one of a request. */
  #isAtBorder = false
  /** The rules under which the last chunk was parsed. */
  #parsedUnder: object | undefined
  /** The chunk that was received, and is neither answered nor parsed yet. */
  #chunk: Buffer | undefined
  /** The response to the last request that was not parsed is sent. */
  #isSent = true
  /** The queue starts later requests when that response is sent. */
  #isQueueWaiting = false
  /** The last repetition on this connection. */
  #last = FORGOTTEN
  /** Requests in a row that were no repetition; negative: requests that are not compared yet. */
  #misses = 0

  constructor(socket: Socket, repeated: RepeatedRequests, parseChunk: ParseChunk) {
    this.socket = socket
    this.peer = socket.remoteAddress ?? ''
    this.#repeated = repeated
    this.#parseChunk = parseChunk
  }

  /** The listener for data. */
  readonly receive = (chunk: Buffer): void => {
    const known = this.#find(chunk)
    this.#chunk = chunk
    this.#isSent = false
    if (known?.responder?.respond(this) !== true) this.parse()
    else if (this.#chunk !== undefined) {
      this.#chunk = undefined
      this.#isQueueWaiting = !this.#isSent
      this.#repeated.queue.answered(this.socket, this.#isSent)
    }
  }

  sent(): void {
    this.#isSent = true
    if (!this.#isQueueWaiting) return
    this.#isQueueWaiting = false
    this.#repeated.queue.release(this.socket)
  }

  close(): void {
    this.socket.removeListener('data', this.receive)
  }

  /** Returns the remembered request that equals the chunk, if the connection may be answered now. */
  #find(chunk: Buffer): RememberedRequest | undefined {
    if (!this.#isAtBorder || chunk.length > MAX_REQUEST_BYTES) return undefined
    // A reload may have changed the timeout of idle connections, which Node sets after each request that it parses.
    if (this.#parsedUnder !== this.#repeated.rules) return undefined
    if (this.#misses < 0) {
      this.#misses += 1
      return undefined
    }
    if (!this.#repeated.queue.isIdle(this.socket)) return undefined
    const { remembered } = this.#repeated
    if (this.#last.bytes.equals(chunk)) return this.#last
    const known = remembered.find(chunk)
    if (known === undefined) {
      this.#misses += 1
      if (this.#misses > MAX_MISSES) this.#misses = -UNCOMPARED_REQUESTS
    } else {
      this.#last = known
      this.#misses = 0
    }
    return known
  }

  parse(): void {
    const chunk = this.#chunk
    if (chunk === undefined) return
    this.#chunk = undefined
    const { queue, rules } = this.#repeated
    this.#parsedUnder = rules
    const before = queue.progressOf(this.socket).requests
    this.wantsResponder = this.#isAtBorder && this.#misses >= 0 && chunk.length <= MAX_REQUEST_BYTES
    this.offered = undefined
    this.#parseChunk.call(this.socket, chunk)
    this.wantsResponder = false
    const beganAtBorder = this.#isAtBorder
    const { requests, incomplete } = queue.progressOf(this.socket)
    // What follows a complete request in the chunk is another request. If the chunk ends with an empty line, the parser
    // has received the whole head of that request and counted it.
    this.#isAtBorder = requests === before + 1 && incomplete === undefined && endsWithEmptyLine(chunk)
    const { offered } = this
    this.offered = undefined
    if (offered !== undefined && beganAtBorder && this.#isAtBorder) this.#repeated.remembered.remember(chunk, offered)
  }
}
