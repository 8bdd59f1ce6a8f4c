/** One request and its response on one connection, as a handler of undici's `dispatch`. Settles once. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { buildConnector, Dispatcher } from 'undici'
import type { NodeResult } from '../core/node-call.ts'
import { spendTurn, waitForTurn } from '../core/turns.ts'
import { AbortedError } from './layer.ts'
import {
  BodyCollector,
  type CallFailure,
  failureOf,
  parseResponseHead,
  type ResponseExpectation,
  type ResponseHead,
  tooLarge,
} from './node-response.ts'

type Controller = Dispatcher.DispatchController

/** Bytes of a raw file that are buffered for a slow client, so that small files release the node immediately. */
const STREAM_BUFFER_BYTES = 256 * 1024

/**
 * Uses `dispatch`, undici's lowest interface, because only its handlers show whether anything was sent:
 * `onRequestStart` runs before the first byte. `Pool.request` does not report it, and cannot be aborted while connecting.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #node: string
  readonly #expectation: ResponseExpectation
  readonly #settle: (result: NodeResult) => void
  #controller: Controller | undefined
  #head: ResponseHead | undefined
  #body: BodyCollector | undefined
  #stream: Readable | undefined
  #receivedBytes = 0
  #isSettled = false

  constructor(node: string, expectation: ResponseExpectation, settle: (result: NodeResult) => void) {
    this.#node = node
    this.#expectation = expectation
    this.#settle = settle
  }

  /** Aborts the exchange because the deadline has passed or the client disconnected. */
  abort(failure: CallFailure): void {
    this.#fail(failure, new AbortedError(failure))
  }

  onRequestStart(controller: Controller): void {
    // After an abort while connecting, stop before the first byte. undici starts a second time to send the request
    // again; the caller of this attempt decides about retries.
    if (this.#isSettled || this.#controller !== undefined) {
      controller.abort(new Error('exchange ended before the request was sent'))
      return
    }
    this.#controller = controller
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (this.#isSettled) return
    const head = parseResponseHead(status, headers, this.#expectation)
    if ('fault' in head) {
      this.#fail(head)
      return
    }
    this.#head = head
    if (head.isStreamed) this.#succeed(head, this.#createStream(controller))
    else this.#body = new BodyCollector(head.length)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isSettled && this.#stream === undefined) return
    const { maxBytes } = this.#expectation
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > maxBytes) this.#fail(tooLarge(maxBytes))
    else if (this.#body !== undefined) this.#body.append(chunk)
    else if (this.#stream?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#stream?.push(null)
    if (this.#head !== undefined && this.#body !== undefined) this.#succeed(this.#head, this.#body.bytes())
  }

  onResponseError(_: Controller | undefined, error: Error): void {
    this.#fail(failureOf(error, { sent: this.#controller !== undefined, answered: this.#head !== undefined }))
  }

  #createStream(controller: Controller): Readable {
    const stream = new Readable({
      highWaterMark: STREAM_BUFFER_BYTES,
      read: () => controller.resume(),
      destroy: (error, done) => {
        // Has no effect if the response is already complete.
        controller.abort(error ?? new Error('client disconnected'))
        done(error)
      },
    })
    // Readers observe errors by `close`. Without this listener an early error would end the process.
    stream.on('error', () => undefined)
    this.#stream = stream
    return stream
  }

  #succeed({ status, type, length, personal }: ResponseHead, body: Buffer | Readable): void {
    if (this.#isSettled) return
    this.#isSettled = true
    const optional = { ...(length !== undefined && { length }), ...(personal && { personal }) }
    this.#settle({ ok: true, response: { node: this.#node, status, type, ...optional, body } })
  }

  #fail(failure: CallFailure, error = new Error(failure.detail)): void {
    this.#stream?.destroy(error)
    if (this.#isSettled) return
    this.#isSettled = true
    this.#settle({ ...failure, ok: false, node: this.#node, sent: this.#controller !== undefined })
    this.#controller?.abort(error)
  }
}

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
  const read = socket.read.bind(socket)
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
    const chunk: Buffer | null = read(size)
    spendTurn((chunk?.length ?? 0) / BYTES_PER_MS - READ_MS)
    return chunk
  }
}
