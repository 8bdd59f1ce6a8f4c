/**
 * The fast path, in front of the router: for a URL that was validated before, it admits the request, looks up the
 * cache and sends a hit in one write. Every other request continues on the regular path, which takes over what has
 * been decided, so that nothing is counted, verified or fetched twice.
 *
 * Everything stays synchronous if it can: one extra microtask costs as much as the cache lookup itself.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { RecentlyUsed } from '../core/recently-used.ts'
import type { Caller, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span } from '../core/trace.ts'
import { headOf, type RequestHead } from '../listener/framing.ts'
import type { Admission } from './admit.ts'
import type { Charge, EarlyRequest } from './authenticate.ts'
import type { AddressOf } from './client-address.ts'
import { toEdgeRequest, type ValidatedUrl } from './edge-request.ts'
import { type JsonResponse, preferencesOf, type Representation, represent } from './representation.ts'
import { hitLog, type WriteLine } from './request-log.ts'
import {
  type BeginTrace,
  eventOfHit,
  type Handover,
  type HitLogEntry,
  type RequestEventListener,
} from './request-state.ts'
import { writeResponse } from './write-response.ts'

/** Validated URLs that are remembered, in each of two generations, and the length up to which one is. */
const MAX_URLS = 5000
const MAX_URL_LENGTH = 512

export interface FastPathOptions {
  readonly handle: Handler
  readonly log: FastifyBaseLogger
  /** Writes whole lines of the log; absent: all lines go through the logger. */
  readonly writeLine?: WriteLine
  readonly compressionMinBytes: number
  readonly observe?: RequestEventListener
  readonly beginTrace?: BeginTrace
  readonly clientAddress: AddressOf
}

export interface FastPath {
  /** Returns the listener of the server, which passes to `handler` every request that the fast path does not answer. */
  wrap(handler: RequestListener): RequestListener
  /** From now on, requests for known URLs take the fast path. */
  open(admission: Admission): void
  /** Remembers a URL that was found valid and whose response may be cached. */
  remember(url: string, validated: ValidatedUrl): void
  /** Forgets all URLs, because settings that their validation depends on have changed. */
  forgetUrls(): void
  /** Returns what the fast path decided about a request that it passed on. */
  handoverOf(request: IncomingMessage): Handover | undefined
}

interface KnownUrl extends ValidatedUrl {
  readonly sufficient: WeakSet<readonly string[]>
}

export function createFastPath(options: FastPathOptions): FastPath {
  let urls = new RecentlyUsed<KnownUrl>(MAX_URLS)
  const handovers = new WeakMap<IncomingMessage, Handover>()
  let admission: Admission | undefined

  return {
    wrap: (handler) => {
      const context: Context = {
        options,
        logHit: hitLog(options.log, options.writeLine),
        leave: (fast) => {
          handovers.set(fast.request, fast)
          handler(fast.request, fast.response)
        },
      }
      return (request, response) => {
        const head = headOf(request)
        const url = isRead(request, head) ? urls.get(request.url ?? '') : undefined
        if (url === undefined || admission === undefined) handler(request, response)
        else new FastRequest(context, { url, head, request, response }).serve(admission)
      }
    },
    open: (opened) => {
      admission = opened
    },
    remember: (url, validated) => {
      if (url.length <= MAX_URL_LENGTH) urls.set(url, { ...validated, sufficient: new WeakSet() })
    },
    forgetUrls: () => {
      urls = new RecentlyUsed<KnownUrl>(MAX_URLS)
    },
    handoverOf: (request) => handovers.get(request),
  }
}

/** A body is read by the regular path before the request is answered, even if it has no meaning. */
function isRead({ method }: IncomingMessage, { headers, hasBody }: RequestHead): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.expect === undefined && !hasBody
}

interface Context {
  readonly options: FastPathOptions
  logHit(entry: HitLogEntry): void
  /** Continues on the regular path. */
  leave(request: FastRequest): void
}

interface Arrival {
  readonly url: KnownUrl
  readonly head: RequestHead
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** One request on the fast path, and the handover to the regular path if it leaves. */
class FastRequest implements EarlyRequest, Handover {
  readonly id = randomUUID()
  readonly trace: Span | undefined
  readonly head: RequestHead
  readonly clientAddress: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  caller: Caller | undefined = undefined
  pipelineResponse: Promise<EdgeResponse> | undefined = undefined
  elapsed = 0
  readonly #context: Context
  readonly #url: KnownUrl
  readonly #startedAt = performance.now()

  constructor(context: Context, { url, head, request, response }: Arrival) {
    this.#context = context
    this.#url = url
    this.head = head
    this.request = request
    this.response = response
    head.clientAddress ??= context.options.clientAddress({ raw: request })
    this.clientAddress = head.clientAddress
    this.trace = context.options.beginTrace?.({ id: this.id, raw: request })
  }

  /** Never throws. */
  serve(admission: Admission): void {
    try {
      // A recorded trace contains a span for each stage, which only the regular path makes.
      const caller = this.trace?.recorded ? undefined : admission.admitEarly(this, this.#url)
      if (caller === undefined) this.#leave()
      else this.#runPipeline(caller, admission.charge)
    } catch (error) {
      this.#fail(error)
    }
  }

  #runPipeline(caller: Caller, charge: Charge): void {
    const { id, trace, response, head, clientAddress } = this
    let result: EdgeResponse | Promise<EdgeResponse>
    try {
      const request = toEdgeRequest(this.#url, {
        caller,
        headers: head.headers,
        id,
        clientAddress,
        trace,
        response,
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
    const preferences = preferencesOf(this.head.headers, this.#url.flags, this.#context.options.compressionMinBytes)
    const representation = represent(result, preferences)
    if (representation instanceof Promise) {
      void representation.then((made) => this.#send(caller, result, made)).catch((error: unknown) => this.#fail(error))
    } else this.#send(caller, result, representation)
  }

  #send(caller: Caller, result: JsonResponse, representation: Representation): void {
    const { endpoint } = this.#url
    writeResponse(this.response, this.id, representation)
    const entry: HitLogEntry = {
      reqId: this.id,
      method: this.request.method === 'HEAD' ? 'HEAD' : 'GET',
      route: endpoint.path,
      status: representation.status,
      elapsed: performance.now() - this.#startedAt,
      caller: caller.name,
      client: this.clientAddress,
    }
    this.#context.logHit(entry)
    this.#context.options.observe?.(eventOfHit(entry, endpoint, result, representation.bytes?.length ?? 0))
  }

  /** `pipelineResponse`: the pipeline was called, and must not be called again. */
  #leave(pipelineResponse?: Promise<EdgeResponse>): void {
    this.pipelineResponse = pipelineResponse
    this.elapsed = performance.now() - this.#startedAt
    this.#context.leave(this)
  }

  #fail(error: unknown): void {
    this.#context.options.log.error({ err: error, reqId: this.id }, 'fast path failed')
    this.response.destroy()
  }
}

/** The regular path may await this promise later. Its rejection is marked as handled until then. */
function rejection(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  promise.catch(() => undefined)
  return promise
}
