/** One exchange with a node over a connection. */
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { NodeResponse, NodeResult } from '../core/node-call.ts'
import type { Mutable } from '../core/values.ts'
import { BodyCollector } from './body-collector.ts'
import { ExchangeError } from './call.ts'
import {
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
 * One request and its response on one connection, as a handler of undici's `dispatch`. Settles once.
 *
 * Uses `dispatch`, undici's lowest interface, because only its handlers show whether anything was sent:
 * `onRequestStart` runs before the first byte. `Pool.request` does not report it, and cannot be aborted while connecting.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #node: string
  readonly #expectation: ResponseExpectation
  #settle: (result: NodeResult) => void
  #controller: Controller | undefined
  #head: ResponseHead | undefined
  #body: BodyCollector | undefined
  #stream: Readable | undefined
  #receivedBytes = 0
  #isSettled = false
  /** The call has ended, and the node may still work on it. */
  #isLate = false

  constructor(node: string, expectation: ResponseExpectation, settle: (result: NodeResult) => void) {
    this.#node = node
    this.#expectation = expectation
    this.#settle = settle
  }

  /** Ends the exchange: it has failed, its deadline has passed, or the client disconnected. */
  abort(failure: CallFailure): void {
    const error = new ExchangeError(failure)
    this.#stream?.destroy(error)
    if (this.#isSettled) return
    this.#isSettled = true
    this.#settle({ ...failure, ok: false, node: this.#node, sent: this.#controller !== undefined })
    this.#controller?.abort(error)
  }

  /** Settles as `abort` does. What was sent goes on: a node works on a call whose connection is closed. */
  leave(failure: CallFailure): void {
    if (this.#isSettled || this.#controller === undefined) {
      this.abort(failure)
      return
    }
    const settle = this.#settle
    const result = new Promise<NodeResult>((resolve) => {
      this.#settle = resolve
    })
    this.#isLate = true
    const late = { result, end: () => this.abort(failure) }
    settle({ ...failure, ok: false, node: this.#node, sent: true, late })
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
      this.abort(head)
      return
    }
    this.#head = head
    if (head.isStreamed && this.#isLate) this.abort({ fault: 'cancelled', reason: 'clientDisconnected' })
    else if (head.isStreamed) this.#succeed(head, this.#createStream(controller))
    else this.#body = new BodyCollector(head.length)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isSettled && this.#stream === undefined) return
    const { maxBytes } = this.#expectation
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > maxBytes) this.abort(tooLarge(maxBytes))
    else if (this.#body !== undefined) this.#body.append(chunk)
    else if (this.#stream?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#stream?.push(null)
    const head = this.#head
    if (head === undefined || this.#body === undefined) return
    const body = this.#body.bytes()
    if (body instanceof Promise) void body.then((whole) => this.#succeed(head, whole))
    else this.#succeed(head, body)
  }

  onResponseError(_: Controller | undefined, error: Error): void {
    this.abort(failureOf(error, { sent: this.#controller !== undefined, answered: this.#head !== undefined }))
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

  #succeed({ status, type, length, personal, age }: ResponseHead, body: Buffer | Readable): void {
    if (this.#isSettled) return
    this.#isSettled = true
    const response: Mutable<NodeResponse> = { node: this.#node, status, type, body }
    if (length !== undefined) response.length = length
    if (personal) response.personal = true
    if (age > 0) response.age = age
    this.#settle({ ok: true, response })
  }
}
