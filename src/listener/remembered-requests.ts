/** The memory of requests that may be repeated, by their bytes. Bounded in bytes. */
import type { Socket } from 'node:net'

/** A request whose bytes are those of an earlier one. */
export interface UnparsedRequest {
  readonly socket: Socket
  /** The address of the TCP connection. */
  readonly peer: string
  /** Passes the request to Node, which calls the handler before this function returns. To be called at most once. */
  parse(): void
  /** To be called when the response is sent, or cannot be sent any more: at once or later. */
  sent(): void
}

/** Answers a request that is repeated. */
export interface Responder {
  /**
   * Writes a complete response to the socket, or passes the request to Node, and returns `true`. Returns `false` if it
   * did neither; the request is then passed to Node. Must not throw.
   */
  respond(request: UnparsedRequest): boolean
}

/** Connections also refer to this object, so both members are reset when the request is forgotten. */
export interface RememberedRequest {
  bytes: Buffer
  responder: Responder | undefined
}

/** Longer requests are not remembered, in bytes. */
export const MAX_REQUEST_BYTES = 4096
/** Estimated bytes of all remembered requests of a server. */
const MAX_BYTES = 8 * 1024 * 1024
/** The memory stores a request as text and as bytes. Its parsed headers take about three times its bytes. */
const BYTES_FACTOR = 5
const OVERHEAD_BYTES = 1024

const NO_BYTES = Buffer.alloc(0)

/** Equals no request. */
export const FORGOTTEN: RememberedRequest = { bytes: NO_BYTES, responder: undefined }

/** Two generations, each of half of the bytes; the older one is forgotten when the younger one is full. */
export class RememberedRequests {
  #young = new Map<string, RememberedRequest>()
  #old = new Map<string, RememberedRequest>()
  #youngBytes = 0

  find(chunk: Buffer): RememberedRequest | undefined {
    const text = chunk.toString('latin1')
    const young = this.#young.get(text)
    if (young !== undefined) return young
    const old = this.#old.get(text)
    if (old === undefined) return undefined
    this.#old.delete(text)
    this.#add(text, old)
    return old
  }

  remember(chunk: Buffer, responder: Responder): void {
    const text = chunk.toString('latin1')
    const known = this.#young.get(text)
    if (known !== undefined) {
      known.responder = responder
      return
    }
    // A chunk is a part of a larger buffer.
    const bytes = Buffer.allocUnsafeSlow(chunk.length)
    chunk.copy(bytes)
    this.#add(text, { bytes, responder })
  }

  clear(): void {
    forget(this.#young)
    forget(this.#old)
    this.#youngBytes = 0
  }

  #add(text: string, request: RememberedRequest): void {
    const bytes = BYTES_FACTOR * text.length + OVERHEAD_BYTES
    if (this.#youngBytes + bytes > MAX_BYTES / 2) {
      forget(this.#old)
      this.#old = this.#young
      this.#young = new Map()
      this.#youngBytes = 0
    }
    this.#young.set(text, request)
    this.#youngBytes += bytes
  }
}

function forget(requests: Map<string, RememberedRequest>): void {
  for (const request of requests.values()) {
    request.bytes = NO_BYTES
    request.responder = undefined
  }
  requests.clear()
}
