/**
 * Cache hits that are answered in front of Fastify. When the local tier has answered a request with a fresh response that
 * callers share, its URL is remembered with the function that looks the response up again. The next request for the URL
 * with verified credentials gets it without router, hooks, validation and pipeline, as long as it is still a fresh hit of
 * the local tier. Any other request continues with Fastify, which decides everything again.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import type { EdgeResponse, EnvelopeResponse, StoredOrigin } from '../core/response.ts'
import { TurnQueue } from '../core/turn-queue.ts'
import { hasBody } from '../listener/framing.ts'
import { headOf, sendWithHead, type WrittenHead } from '../listener/node-internals.ts'
import { commonHeaders } from '../representation/headers.ts'
import { representCached } from '../representation/represent.ts'
import { missingPermission } from './admit.ts'
import type { Authenticator } from './authenticator.ts'
import type { HttpContract } from './contract.ts'
import type { ValidatedUrl } from './edge-request.ts'
import type { RequestEventListener } from './report-requests.ts'
import { type EventNames, eventNamesOf, eventOfHit } from './request-events.ts'
import { type RequestStart, RequestState } from './request-state.ts'

/** Longer URLs are not remembered. */
const MAX_URL_LENGTH = 512
/** Hits that are answered in one turn of the event loop: some milliseconds of work. */
const HITS_PER_TURN = 100

interface PreparedHitOptions extends RequestStart {
  readonly observe?: RequestEventListener
  readonly contract: Pick<HttpContract, 'release' | 'mayRepeat'>
}

interface PreparedHit {
  readonly url: ValidatedUrl
  readonly release: string | undefined
  readonly names: EventNames
  /** Returns the response again, with its present age; `undefined`: it is no fresh hit of the local tier any more. */
  readonly repeat: () => EnvelopeResponse<StoredOrigin> | undefined
  /** The permissions that were found to be sufficient last. A list never changes: new permissions are another list. */
  permissions: readonly string[]
  /** The headers of the last response, which the hits of one second share, and the head of all responses with them. */
  last?: { readonly headers: readonly string[]; readonly head: WrittenHead }
}

/** A request for a remembered URL until the end of its turn of the event loop. */
interface WaitingRequest {
  readonly hit: PreparedHit
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly state: RequestState
  readonly next: RequestListener
}

export class PreparedHits {
  readonly #options: PreparedHitOptions
  /** Absent before `recogniseBy`: no URL is remembered yet. */
  #authenticator: Authenticator | undefined
  #hits = new RecentlyUsed<PreparedHit>(MAX_IN_USE)
  /** Monotonic milliseconds. */
  #clearedAt = Number.NEGATIVE_INFINITY
  readonly #waiting = new TurnQueue<WaitingRequest>(HITS_PER_TURN, (waiting) => this.#answerNow(waiting))
  #isOff = false

  constructor(options: PreparedHitOptions) {
    this.#options = options
  }

  /** To be called before the first request. */
  recogniseBy(authenticator: Authenticator): void {
    this.#authenticator = authenticator
  }

  /** Remembers the response to a request, if it is a hit that may be repeated for all callers who may read the endpoint. */
  remember({ raw, edge }: FastifyRequest, caller: Caller, url: ValidatedUrl, response: EdgeResponse): void {
    const repeat =
      response.kind === 'envelope' && response.origin.kind === 'stored' ? response.origin.repeat : undefined
    const path = raw.url ?? ''
    if (this.#isOff || repeat === undefined || path.length > MAX_URL_LENGTH || !isPlainRead(raw)) return
    // The URL was validated with settings from before the reload.
    if (edge.startedAt <= this.#clearedAt) return
    const release = this.#options.contract.release?.()
    this.#hits.set(path, { url, release, names: eventNamesOf(url.endpoint), repeat, permissions: caller.permissions })
  }

  /** From now on each request runs through all hooks: those of CORS and of plugins must see every request. */
  switchOff(): void {
    this.#isOff = true
  }

  /** Forgets all URLs, because settings that their validation depends on have changed. */
  clear(): void {
    this.#hits = new RecentlyUsed<PreparedHit>(MAX_IN_USE)
    this.#clearedAt = performance.now()
  }

  /**
   * Returns a listener that answers, counts and reports a request if it is a repeated hit, and otherwise passes it on. The
   * requests that arrive in one turn of the event loop are answered together at its end: the code and the data of this step
   * and of the kernel's write stay in the caches of the processor, and a client that the first response wakes up is still
   * awake for the others. Those beyond `HITS_PER_TURN` are answered in later turns.
   */
  inFrontOf(next: RequestListener): RequestListener {
    const { contract } = this.#options
    return (request, response) => {
      const hit = this.#hits.get(request.url ?? '')
      if (
        hit === undefined ||
        hit.release !== contract.release?.() ||
        !isPlainRead(request) ||
        contract.mayRepeat?.(request, hit.url.endpoint) === false
      )
        next(request, response)
      else this.#waiting.add({ hit, request, response, state: new RequestState(request, this.#options), next })
    }
  }

  #answerNow({ hit, request, response, state, next }: WaitingRequest): void {
    try {
      if (this.#respond(hit, request, response, state)) return
    } catch (fault) {
      state.fault = fault as Error
    }
    request.state = state
    next(request, response)
  }

  /**
   * Returns `false` if the request is no repeated hit. Without a wait between the lookup and the write: no write or purge
   * can be acknowledged in between.
   */
  #respond(hit: PreparedHit, request: IncomingMessage, to: ServerResponse, state: RequestState): boolean {
    // The hooks report a client that has disconnected, or an error behind the request on its connection.
    if (to.destroyed || !request.socket.writable || request.rejectedWith !== undefined) return false
    // A recorded trace contains a span for each stage.
    if (state.trace?.recorded) return false
    const { headers } = request
    const authenticator = this.#authenticator
    const caller = authenticator?.recall(headers.authorization, state.clientAddress)
    if (caller === undefined) return false
    if (caller.permissions !== hit.permissions && !this.#isAllowed(hit, caller)) return false
    const response = hit.repeat()
    if (response === undefined) return false
    const representation = representCached(response, response.origin, headers, hit.url.flags)
    if (representation instanceof Promise || !authenticator?.countHit(caller.name)) return false
    const { status, headers: responseHeaders, bytes } = representation
    const { method = '' } = request
    const body = method === 'HEAD' ? undefined : bytes
    // Otherwise the head depends on the connection too.
    const staysOpen = to.shouldKeepAlive && !to.hasHeader('connection')
    if (staysOpen && hit.last?.headers === responseHeaders) sendWithHead(to, hit.last.head, state.id, body)
    else {
      to.writeHead(status, [...commonHeaders(state.id), ...responseHeaders])
      if (staysOpen) hit.last = { headers: responseHeaders, head: headOf(to, state.id) }
      to.end(body)
    }
    this.#options.observe?.(eventOfHit({ method, state }, hit.names, caller.name, response, representation))
    return true
  }

  #isAllowed(hit: PreparedHit, caller: Caller): boolean {
    if (missingPermission(caller, { endpoint: hit.url.endpoint, query: hit.url.query }) !== undefined) return false
    hit.permissions = caller.permissions
    return true
  }
}

/** Whether method, headers and body of a request permit a repeated hit. */
function isPlainRead({ method, headers }: IncomingMessage): boolean {
  return (
    (method === 'GET' || method === 'HEAD') &&
    headers['cache-control'] === undefined &&
    headers.pragma === undefined &&
    headers.prefer === undefined &&
    headers['wazuh-app-version'] === undefined &&
    headers['content-type'] === undefined &&
    headers['content-encoding'] === undefined &&
    // Node closes the connection after the response to it.
    headers.expect === undefined &&
    !hasBody(headers)
  )
}
