/**
 * Cache hits that are answered in a hook in front of admission. When the local tier has answered a request with a fresh
 * response that callers share, its URL is remembered with the function that looks the response up again. The next request
 * for the URL with verified credentials gets it without validation and pipeline, as long as it is still a fresh hit of the
 * local tier. Any other request continues with the next hook, which decides everything again.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import type { EdgeResponse, EnvelopeResponse, StoredOrigin } from '../core/response.ts'
import { TurnQueue } from '../core/turn-queue.ts'
import { hasBody } from '../listener/framing.ts'
import { commonHeaders } from '../representation/headers.ts'
import { preferencesOf, representCached } from '../representation/represent.ts'
import { missingPermission } from './admit.ts'
import type { Authenticator } from './authenticator.ts'
import type { ValidatedUrl } from './edge-request.ts'
import type { RequestEventListener } from './report-requests.ts'
import { type EventNames, eventNamesOf, eventOfHit } from './request-events.ts'

/** Longer URLs are not remembered. */
const MAX_URL_LENGTH = 512
/** Hits that are answered in one turn of the event loop: some milliseconds of work. */
const HITS_PER_TURN = 100

interface PreparedHitOptions {
  readonly settings: () => { readonly listen: { readonly cors: { readonly origins: readonly string[] } } }
  readonly observe?: RequestEventListener
  /** Returns the release by which URLs are validated; `undefined`: not known. Absent: it decides nothing. */
  readonly release?: (() => string | undefined) | undefined
}

interface PreparedHit {
  readonly url: ValidatedUrl
  readonly release: string | undefined
  readonly names: EventNames
  /** Returns the response again, with its present age; `undefined`: it is no fresh hit of the local tier any more. */
  readonly repeat: () => EnvelopeResponse<StoredOrigin> | undefined
  /** The permissions that were found to be sufficient last. A list never changes: new permissions are another list. */
  permissions: readonly string[]
}

/** A request for a remembered URL until the end of its turn of the event loop. */
interface WaitingRequest {
  readonly hit: PreparedHit
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly next: (error?: Error) => void
}

export class PreparedHits {
  readonly #options: PreparedHitOptions
  readonly #authenticator: Authenticator
  #hits = new RecentlyUsed<PreparedHit>(MAX_IN_USE)
  /** Monotonic milliseconds. */
  #clearedAt = Number.NEGATIVE_INFINITY
  readonly #waiting = new TurnQueue<WaitingRequest>(HITS_PER_TURN, (waiting) => this.#answerNow(waiting))
  #isOff = false

  constructor(options: PreparedHitOptions, authenticator: Authenticator) {
    this.#options = options
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
    const release = this.#options.release?.()
    this.#hits.set(path, { url, release, names: eventNamesOf(url.endpoint), repeat, permissions: caller.permissions })
  }

  /** From now on each request runs through all hooks: those of plugins must see every request. */
  switchOff(): void {
    this.#isOff = true
  }

  /** Forgets all URLs, because settings that their validation depends on have changed. */
  clear(): void {
    this.#hits = new RecentlyUsed<PreparedHit>(MAX_IN_USE)
    this.#clearedAt = performance.now()
  }

  /**
   * Answers, counts and reports the request if it is a repeated hit; otherwise calls `next`. The requests that arrive in one
   * turn of the event loop are answered together at its end: the code and the data of this step and of the kernel's write
   * stay in the caches of the processor, and a client that the first response wakes up is still awake for the others. Those
   * beyond `HITS_PER_TURN` are answered in later turns.
   */
  answer(request: FastifyRequest, reply: FastifyReply, next: WaitingRequest['next']): void {
    const { raw, edge } = request
    const hit = this.#hits.get(raw.url ?? '')
    // A recorded trace contains a span for each stage. CORS adds headers of its own to each response.
    if (
      hit === undefined ||
      hit.release !== this.#options.release?.() ||
      !isPlainRead(raw) ||
      edge.trace?.recorded ||
      this.#options.settings().listen.cors.origins.length > 0
    )
      next()
    else this.#waiting.add({ hit, request, reply, next })
  }

  #answerNow({ hit, request, reply, next }: WaitingRequest): void {
    let error: Error | undefined
    try {
      if (this.#respond(hit, request, reply)) return
    } catch (fault) {
      error = fault as Error
    }
    next(error)
  }

  /**
   * Returns `false` if the request is no repeated hit. Without a wait between the lookup and the write: no write or purge
   * can be acknowledged in between.
   */
  #respond(hit: PreparedHit, { id, raw, edge, method }: FastifyRequest, reply: FastifyReply): boolean {
    // The next hooks report a client that has disconnected, or an error behind the request on its connection.
    if (reply.raw.destroyed || !raw.socket.writable || raw.rejectedWith !== undefined) return false
    const { headers } = raw
    const caller = this.#authenticator.recall(headers.authorization, edge.clientAddress)
    if (caller === undefined) return false
    if (caller.permissions !== hit.permissions && !this.#isAllowed(hit, caller)) return false
    const response = hit.repeat()
    if (response === undefined) return false
    const preferences = preferencesOf(headers, hit.url.flags)
    const representation = representCached(response, response.origin, preferences)
    if (representation instanceof Promise || !this.#authenticator.countHit(caller)) return false
    const { status, bytes } = representation
    reply.raw.writeHead(status, [...commonHeaders(id), ...representation.headers]).end(bytes)
    // The response does not come from Fastify, which runs no further hook for it.
    reply.hijack()
    this.#options.observe?.(eventOfHit({ id, method, edge }, hit.names, caller.name, response, representation))
    return true
  }

  #isAllowed(hit: PreparedHit, caller: Caller): boolean {
    if (missingPermission(caller, { endpoint: hit.url.endpoint, query: hit.url.query }) !== undefined) return false
    hit.permissions = caller.permissions
    return true
  }
}

/** Headers with which a request for a known URL may get another response than a repeated hit. */
const DECIDING_HEADERS = [
  'cache-control',
  'pragma',
  'prefer',
  'wazuh-app-version',
  'content-type',
  'content-encoding',
] as const satisfies readonly (keyof IncomingHttpHeaders)[]

function isPlainRead({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  for (const name of DECIDING_HEADERS) if (headers[name] !== undefined) return false
  return !hasBody(headers)
}
