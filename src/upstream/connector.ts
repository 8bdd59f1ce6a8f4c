/** How the bytes of a connection to a node are read before undici gets them: in turns, and without interim responses. */
import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { spendTurn, waitForTurn } from '../core/turns.ts'

export const MAX_HEADER_BYTES = 16 * 1024

/** Reading this much takes about a millisecond. */
const BYTES_PER_MS = 512 * 1024
/** What a read is expected to take, before its length is known. */
const READ_MS = 0.1

/**
 * Distributes receiving over turns of the event loop. Many nodes may respond at once, and reading everything that the
 * system has received from them takes about 2 ms for each megabyte. Returns a connector whose connections are read in
 * turns, all connections of the process together.
 */
export function connectInTurns(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result
      // If the connection fails, there is only the error.
      if (socket) readInTurns(socket)
      callback(...result)
    })
}

/**
 * Makes `read` return null, as without data, when the turn has no time left, and emits `readable` in a later turn. While
 * its data is not read, the socket stops receiving, as for any slow reader.
 */
function readInTurns(socket: Socket): void {
  const interim = new InterimResponses()
  interimResponses.set(socket, interim)
  const read: (size?: number) => Buffer | null = socket.read.bind(socket)
  let state: 'idle' | 'waiting' | 'due' = 'idle'
  socket.read = (size) => {
    // A read of 0 bytes only starts the socket.
    if (size === 0) return read(0)
    if (state === 'waiting') return null
    const turn = state === 'due' ? undefined : waitForTurn(READ_MS)
    if (turn !== undefined) {
      state = 'waiting'
      void turn.then(() => {
        state = 'due'
        socket.emit('readable')
      })
      return null
    }
    state = 'idle'
    const chunk = read(size)
    spendTurn((chunk?.length ?? 0) / BYTES_PER_MS - READ_MS)
    const rest = chunk && interim.drop(chunk)
    return rest?.length === 0 ? null : rest
  }
}

const interimResponses = new WeakMap<object, InterimResponses>()

// undici publishes this immediately before it writes a request, and has received the response to the one before.
subscribe('undici:client:sendHeaders', (message) => {
  interimResponses.get((message as { socket: object }).socket)?.expect()
})

const NONE = Buffer.alloc(0)
/** An interim response, other than a switch of protocols, which the edge never asks for. */
const INTERIM = /^HTTP\/1\.1 1(?!01)\d\d(?: [^\0\r\n]*)?\r\n(?:[\w!#$%&'*+.^`|~-]+:[^\0\r\n]*\r\n)*\r\n$/
const INTERIM_START = 'HTTP/1.1 1'

/**
 * Drops interim responses (1xx, RFC 9110 section 15.2), which undici refuses (100) or reports as any other response. Passes on
 * what is malformed, and what exceeds the limit on a header: then the response is unreadable.
 */
class InterimResponses {
  /** What has arrived of a response that may be an interim one; `undefined`: the final response has begun. */
  #start: Buffer | undefined
  #dropped = 0

  /** Begins with the response to the next request. */
  expect(): void {
    this.#start = NONE
    this.#dropped = 0
  }

  /** Returns the bytes that are not of an interim response. */
  drop(chunk: Buffer): Buffer {
    if (this.#start === undefined) return chunk
    let bytes = this.#start.length === 0 ? chunk : Buffer.concat([this.#start, chunk])
    this.#start = undefined
    while (INTERIM_START.startsWith(bytes.toString('latin1', 0, INTERIM_START.length))) {
      const at = bytes.indexOf('\r\n\r\n')
      const end = at < 0 ? bytes.length : at + 4
      if (this.#dropped + end > MAX_HEADER_BYTES) break
      if (at < 0) {
        this.#start = bytes
        return NONE
      }
      if (!INTERIM.test(bytes.toString('latin1', 0, end))) break
      this.#dropped += end
      bytes = bytes.subarray(end)
    }
    return bytes
  }
}
