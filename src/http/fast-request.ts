/**
 * One request on the fast path: admission, cache lookup, and a hit in one write. Everything stays synchronous if it can:
 * one extra microtask costs as much as the cache lookup itself.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Caller } from '../core/request.ts'
import { newRequestId } from '../core/request-ids.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span } from '../core/trace.ts'
import { RequestHead } from '../listener/framing.ts'
import type { Responder, UnparsedRequest } from '../listener/remembered-requests.ts'
import { offerResponder, wantsResponder } from '../listener/repeated-requests.ts'
import type { Admission } from './admit.ts'
import type { Charge, EarlyRequest } from './authenticate.ts'
import { toEdgeRequest } from './edge-request.ts'
import type { FastPathContext, KnownHead, ParsedRequest, UnfinishedRequest } from './fast-path-context.ts'
import { type JsonResponse, preferencesOf, type Representation, represent } from './representation.ts'
import { type AnsweredRequest, eventOfHit } from './request-state.ts'
import { writeResponse, writeToSocket } from './write-response.ts'

/** Answers repetitions of a request: only its parsed head is reused, all decisions are made again. */
class KnownRequest implements Responder {
  readonly #context: FastPathContext
  readonly #revision: number
  #known: KnownHead
  #peer: string | undefined

  constructor(context: FastPathContext, known: KnownHead, socket: Socket) {
    this.#context = context
    this.#revision = context.revision
    this.#known = known
    this.#peer = socket.remoteAddress
  }

  respond(request: UnparsedRequest): boolean {
    const { admission, revision } = this.#context
    if (admission === undefined || revision !== this.#revision) return false
    new FastRequest(this.#context, this.#knownFrom(request.peer), request).serve(admission)
    return true
  }

  /** Client address and key of the credentials, which the head remembers, depend on the connection too. */
  #knownFrom(peer: string): KnownHead {
    if (peer !== this.#peer) {
      const { head } = this.#known
      this.#known = { ...this.#known, head: new RequestHead(head) }
      this.#peer = peer
    }
    return this.#known
  }
}

/** One request on the fast path, and the handover to the regular path if it leaves. */
export class FastRequest implements EarlyRequest, UnfinishedRequest, AnsweredRequest {
  readonly id = newRequestId()
  readonly trace: Span | undefined
  readonly head: RequestHead
  readonly clientAddress: string
  readonly socket: Socket
  caller: Caller | undefined = undefined
  pipelineResponse: Promise<EdgeResponse> | undefined = undefined
  elapsed = 0
  readonly #context: FastPathContext
  readonly startedAt = performance.now()
  readonly known: KnownHead
  readonly #unparsed: UnparsedRequest | undefined
  #parsed: ParsedRequest | undefined
  /** The response was sent without Node's parser. */
  #isAnsweredUnparsed = false

  constructor(context: FastPathContext, known: KnownHead, source: ParsedRequest | UnparsedRequest) {
    const { head, method } = known
    this.#context = context
    this.known = known
    this.head = head
    if ('request' in source) {
      this.#parsed = source
      this.#unparsed = undefined
      this.socket = source.request.socket
    } else {
      this.#parsed = undefined
      this.#unparsed = source
      this.socket = source.socket
    }
    const { socket } = this
    const { headers } = head
    const { clientAddress, beginTrace } = context.options
    head.clientAddress ??= clientAddress({ raw: { socket, headers } })
    this.clientAddress = head.clientAddress
    const httpVersion = this.#parsed?.request.httpVersion ?? '1.1'
    this.trace = beginTrace?.({ id: this.id, raw: { method, headers, httpVersion, socket } })
  }

  /**
   * The response object of Node. Undefined if the response was sent without one: work that goes on for later requests,
   * such as a refresh, may still ask whether this client has disconnected.
   */
  get response(): ServerResponse | undefined {
    return this.#isAnsweredUnparsed ? undefined : this.parsed().response
  }

  parsed(): ParsedRequest {
    if (this.#parsed !== undefined) return this.#parsed
    const context = this.#context
    context.awaited = this
    this.#unparsed?.parse()
    context.awaited = undefined
    if (this.#parsed === undefined) throw new Error('a repeated request was not parsed')
    return this.#parsed
  }

  adopt(parsed: ParsedRequest): void {
    this.#parsed = parsed
  }

  /** Never throws. */
  serve(admission: Admission): void {
    try {
      // A recorded trace contains a span for each stage, which only the regular path makes.
      const caller = this.trace?.recorded ? undefined : admission.admitEarly(this, this.known.url)
      if (caller === undefined) this.#leave()
      else this.#runPipeline(caller, admission.charge)
    } catch (error) {
      this.#fail(error)
    }
  }

  #runPipeline(caller: Caller, charge: Charge): void {
    const { id, trace, head, clientAddress } = this
    let result: EdgeResponse | Promise<EdgeResponse>
    try {
      const request = toEdgeRequest(this.known.url, {
        caller,
        headers: head.headers,
        id,
        clientAddress,
        trace,
        client: this,
        charge,
      })
      result = this.#context.options.handle(request)
    } catch (error) {
      this.#leave(rejection(error))
      return
    }
    if (result instanceof Promise) {
      const pending = result
      // Later requests of the connection wait for this one, in the order in which Node has parsed them.
      this.parsed()
      const respond = (found: EdgeResponse) => this.#respond(caller, found)
      void pending.then(respond, () => this.#leave(pending)).catch((error: unknown) => this.#fail(error))
    } else this.#respond(caller, result)
  }

  #respond(caller: Caller, result: EdgeResponse): void {
    if (result.kind !== 'json' || result.cached === undefined) {
      this.#leave(Promise.resolve(result))
      return
    }
    const preferences = preferencesOf(
      this.head.headers,
      this.known.url.flags,
      this.#context.options.compressionMinBytes,
    )
    const representation = represent(result, preferences)
    if (representation instanceof Promise) {
      this.parsed()
      void representation.then((made) => this.#send(caller, result, made)).catch((error: unknown) => this.#fail(error))
    } else this.#send(caller, result, representation)
  }

  #send(caller: Caller, result: JsonResponse, representation: Representation): void {
    this.#write(representation)
    const event = eventOfHit(this, caller.name, result, representation)
    this.#context.logHit(event)
    this.#context.options.observe?.(event)
  }

  #write(representation: Representation): void {
    const { id, socket } = this
    const known = this.known
    if (this.#parsed === undefined && this.#unparsed !== undefined) {
      this.#isAnsweredUnparsed = writeToSocket(this.#unparsed, { id, method: known.method }, representation)
      if (this.#isAnsweredUnparsed) return
    }
    const wasWritten = writeResponse(this.parsed().response, id, representation)
    if (wasWritten && wantsResponder(socket)) offerResponder(socket, new KnownRequest(this.#context, known, socket))
  }

  /** `pipelineResponse`: the pipeline was called, and must not be called again. */
  #leave(pipelineResponse?: Promise<EdgeResponse>): void {
    this.pipelineResponse = pipelineResponse
    this.elapsed = performance.now() - this.startedAt
    this.#context.leave(this)
  }

  #fail(error: unknown): void {
    this.#context.options.log.error({ err: error, reqId: this.id }, 'fast path failed')
    this.socket.destroy()
  }
}

/** The regular path may await this promise later. Its rejection is marked as handled until then. */
function rejection(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  promise.catch(() => undefined)
  return promise
}
