/**
 * One request on the fast path: admission, cache lookup, and a hit in one write. Everything stays synchronous if it can:
 * one extra microtask costs as much as the cache lookup itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../core/request.ts'
import { newRequestId } from '../core/request-ids.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span } from '../core/trace.ts'
import type { RequestHead } from '../listener/framing.ts'
import type { Admission } from './admit.ts'
import type { Charge, EarlyRequest } from './authenticate.ts'
import { toEdgeRequest } from './edge-request.ts'
import type { FastPathContext, KnownRequest, UnfinishedRequest } from './fast-path-context.ts'
import { type JsonResponse, preferencesOf, type Representation, represent } from './representation.ts'
import { type AnsweredRequest, eventOfHit } from './request-state.ts'
import { writeResponse } from './write-response.ts'

/** One request on the fast path, and the handover to the regular path if it leaves. */
export class FastRequest implements EarlyRequest, UnfinishedRequest, AnsweredRequest {
  readonly id = newRequestId()
  readonly trace: Span | undefined
  readonly head: RequestHead
  readonly clientAddress: string
  caller: Caller | undefined = undefined
  pipelineResponse: Promise<EdgeResponse> | undefined = undefined
  elapsed = 0
  readonly #context: FastPathContext
  readonly startedAt = performance.now()
  readonly known: KnownRequest
  readonly request: IncomingMessage
  readonly response: ServerResponse

  constructor(context: FastPathContext, known: KnownRequest) {
    const { head, method, request, response } = known
    const { headers } = head
    const { socket, httpVersion } = request
    const { clientAddress, beginTrace } = context.options
    this.#context = context
    this.known = known
    this.head = head
    this.request = request
    this.response = response
    head.clientAddress ??= clientAddress({ raw: { socket, headers } })
    this.clientAddress = head.clientAddress
    this.trace = beginTrace?.({ id: this.id, raw: { method, headers, httpVersion, socket } })
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
      void representation.then((made) => this.#send(caller, result, made)).catch((error: unknown) => this.#fail(error))
    } else this.#send(caller, result, representation)
  }

  #send(caller: Caller, result: JsonResponse, representation: Representation): void {
    writeResponse(this.response, this.id, representation)
    const event = eventOfHit(this, caller.name, result, representation)
    this.#context.logHit(event)
    this.#context.options.observe?.(event)
  }

  /** `pipelineResponse`: the pipeline was called, and must not be called again. */
  #leave(pipelineResponse?: Promise<EdgeResponse>): void {
    this.pipelineResponse = pipelineResponse
    this.elapsed = performance.now() - this.startedAt
    this.#context.leave(this)
  }

  #fail(error: unknown): void {
    this.#context.options.log.error({ err: error, reqId: this.id }, 'fast path failed')
    this.request.socket.destroy()
  }
}

/** The regular path may await this promise later. Its rejection is marked as handled until then. */
function rejection(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  promise.catch(() => undefined)
  return promise
}
