import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Dispatcher } from 'undici'
import type { NodeResponse } from '../core/node-call.ts'
import { Collected, type Expected, explain, type Failure, type Head, readHead, tooLarge } from './node-response.ts'

/** One request and its answer on one connection, as undici tells it. Settles once. */

type Controller = Dispatcher.DispatchController

export type Outcome =
  | { readonly ok: true; readonly reply: NodeResponse }
  | { readonly ok: false; readonly failure: Failure; readonly sent: boolean }

/** Bytes of a raw file that are taken in ahead of a slow client, so that small files free the node at once. */
const AHEAD = 256 * 1024

/**
 * Written against `dispatch`, undici's lowest call, since only there it is known whether anything was sent:
 * `onRequestStart` comes before the first byte. (`Pool.request` does not tell, nor can it be left while connecting.)
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #node: string
  readonly #expected: Expected
  readonly #settle: (outcome: Outcome) => void
  #collected: Collected | undefined
  #controller: Controller | undefined
  #head: Head | undefined
  #stream: Readable | undefined
  #received = 0
  #over = false

  constructor(node: string, expected: Expected, settle: (outcome: Outcome) => void) {
    this.#node = node
    this.#expected = expected
    this.#settle = settle
  }

  /** The deadline has passed or the client has left. */
  giveUp(failure: Failure): void {
    this.#fail(failure)
  }

  onRequestStart(controller: Controller): void {
    // Given up while connecting: stopped before the first byte. A second start would send the request again,
    // which is for the caller of this attempt to decide.
    if (this.#over || this.#controller !== undefined) {
      controller.abort(new Error('not wanted any more'))
      return
    }
    this.#controller = controller
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (this.#over) return
    const head = readHead(status, headers, this.#expected)
    if ('fault' in head) {
      this.#fail(head)
      return
    }
    this.#head = head
    if (head.streamed) this.#succeed(head, this.#passOn(controller))
    else this.#collected = new Collected(head.length)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#over && this.#stream === undefined) return
    this.#received += chunk.length
    if (this.#received > this.#expected.most) this.#fail(tooLarge(this.#expected.most))
    else if (this.#collected !== undefined) this.#collected.add(chunk)
    else if (this.#stream?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#stream?.push(null)
    if (this.#head !== undefined && this.#collected !== undefined) this.#succeed(this.#head, this.#collected.bytes())
  }

  onResponseError(_: Controller | undefined, error: Error): void {
    this.#fail(explain(error, { sent: this.#controller !== undefined, answered: this.#head !== undefined }))
  }

  #passOn(controller: Controller): Readable {
    const stream = new Readable({
      highWaterMark: AHEAD,
      read: () => controller.resume(),
      destroy: (error, done) => {
        // Too late to matter when the answer is complete.
        controller.abort(error ?? new Error('client left'))
        done(error)
      },
    })
    // Whoever reads it hears of errors by `close`; without a listener one that comes early would end the process.
    stream.on('error', () => undefined)
    this.#stream = stream
    return stream
  }

  #succeed(head: Head, body: Buffer | Readable): void {
    if (this.#over) return
    this.#over = true
    const { status, type, length, personal } = head
    const more = { ...(length !== undefined && { length }), ...(personal && { personal }) }
    this.#settle({ ok: true, reply: { node: this.#node, status, type, ...more, body } })
  }

  #fail(failure: Failure): void {
    const sent = this.#controller !== undefined
    if (this.#stream !== undefined) this.#stream.destroy(new Error(failure.detail))
    if (this.#over) return
    this.#over = true
    this.#settle({ ok: false, failure, sent })
    this.#controller?.abort(new Error(failure.detail))
  }
}
