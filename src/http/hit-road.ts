/**
 * The short road of a hit, in front of the router: for a URL that was validated before, the same functions decide in the
 * same order (authenticate → authorise → handle → represent), and what is kept goes out at once. Everything else goes
 * on down the usual road, and takes along what has been decided, so that nothing is counted, asked or written twice.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { EdgeError } from '../errors.ts'
import type { Answer, Caller, Prompt } from '../pipeline/ports.ts'
import { checkAppVersion } from './app-version.ts'
import { toAsk, type Validated } from './ask.ts'
import { type Authenticate, NotHere } from './authenticate.ts'
import { authorise } from './authorise.ts'
import type { AddressOf } from './client-address.ts'
import { type Head, headOf } from './head.ts'
import { eventOfHit, type Observe } from './observe.ts'
import { Recent } from './recent.ts'
import { wantedBy } from './reply.ts'
import { type Representation, represent } from './represent.ts'
import { requestLine } from './request-log.ts'
import { sendWhole } from './whole-answer.ts'

/** URLs that are known, and how long they may be: else their number were no bound. */
const URLS = 5000
const LONGEST_URL = 512
const NO_OPTIONS = Object.freeze({})

type Serve = (request: IncomingMessage, response: ServerResponse) => void

export interface HitRoadOptions {
  readonly handle: Prompt
  readonly log: FastifyBaseLogger
  readonly compressFrom?: number
  readonly observe?: Observe
  readonly clientAddress: AddressOf
  managerVersion(): string | undefined
}

/** What is known of a request before the router sees it. */
export interface Decided {
  readonly id: string
  /** Milliseconds since it arrived. */
  readonly waited: number
  /** Rejects as authentication and authorisation do; absent: still to be decided. */
  readonly caller?: Promise<Caller>
  readonly answer?: Promise<Answer>
}

export interface HitRoad {
  /** Gives the listener that stands in front of the framework's. */
  inFront(handler: Serve): Serve
  /** From now on known URLs take this road. */
  open(authenticate: Authenticate): void
  /** This URL was found valid, and its answer may be kept. */
  learn(url: string, validated: Validated): void
  decided(request: IncomingMessage): Decided | undefined
}

export function createHitRoad(options: HitRoadOptions): HitRoad {
  // What validation makes of a URL depends on nothing but its text.
  const known = new Recent<Known>(URLS)
  const taken = new WeakMap<IncomingMessage, Decided>()
  let authenticate: Authenticate | undefined

  return {
    inFront: (handler) => (request, response) => {
      const head = headOf(request)
      const asked = isRead(request, head) ? known.find(request.url ?? '') : undefined
      if (asked === undefined || authenticate === undefined) return handler(request, response)
      const { validated, enough } = asked
      const goOn = (decided: Decided) => {
        taken.set(request, decided)
        handler(request, response)
      }
      const hit = new Hit(options, { validated, enough, head, request, response, goOn })
      try {
        hit.serve(authenticate)
      } catch (fault) {
        hit.broken(fault)
      }
    },
    open: (first) => {
      authenticate = first
    },
    learn: (url, validated) => {
      if (url.length <= LONGEST_URL) known.learn(url, { validated, enough: new WeakSet() })
    },
    decided: (request) => taken.get(request),
  }
}

function isRead({ method }: IncomingMessage, { headers }: Head): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.expect === undefined
}

/** What is known of a URL. */
interface Known {
  readonly validated: Validated
  /** The rights that were found to be enough for it. Lists of rights never change: a caller's new ones are another list. */
  readonly enough: WeakSet<readonly string[]>
}

interface Arrived extends Known {
  readonly head: Head
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** What cannot be answered here goes on down the usual road. */
  goOn(decided: Decided): void
}

/** Nothing waits that need not: each turn that a hit waits costs as much as its look into the cache. */
class Hit {
  readonly #options: HitRoadOptions
  readonly #arrived: Arrived
  readonly #id = randomUUID()
  readonly #began = performance.now()
  readonly #client: string

  constructor(options: HitRoadOptions, arrived: Arrived) {
    this.#options = options
    this.#arrived = arrived
    const { head, request } = arrived
    head.client ??= options.clientAddress({ raw: request })
    this.#client = head.client
  }

  serve(authenticate: Authenticate): void {
    const { head, request: raw } = this.#arrived
    const { headers } = head
    let caller: Caller | Promise<Caller>
    try {
      caller = authenticate({ raw, head, headers, clientAddress: this.#client, routeOptions: NO_OPTIONS })
    } catch (refusal) {
      return this.#refused(refusal)
    }
    this.#whenThere(caller, this.#admit, this.#refused)
  }

  readonly #admit = (caller: Caller): void => {
    if (!this.#mayAsk(caller)) return this.#arrived.goOn(this.#decided(Promise.resolve(caller)))
    const failed = (fault: unknown) => this.#arrived.goOn(this.#decided(Promise.resolve(caller), rejected(fault)))
    let answer: Answer | Promise<Answer>
    try {
      answer = this.#ask(caller)
    } catch (fault) {
      return failed(fault)
    }
    this.#whenThere(answer, (found) => this.#reply(caller, found), failed)
  }

  #reply(caller: Caller, answer: Answer): void {
    const { validated, head, goOn } = this.#arrived
    if (answer.kind !== 'json' || answer.kept === undefined)
      return goOn(this.#decided(Promise.resolve(caller), Promise.resolve(answer)))
    const found = represent(answer, wantedBy(head.headers, validated.flags, this.#options.compressFrom))
    this.#whenThere(found, (representation) => this.#write(representation, caller, answer), this.broken)
  }

  /** Whatever fails in `then` itself is foreseen by nobody. */
  #whenThere<T>(value: T | Promise<T>, then: (value: T) => void, otherwise: (fault: unknown) => void): void {
    if (value instanceof Promise) void value.then(then, otherwise).catch(this.broken)
    else then(value)
  }

  readonly #refused = (refusal: unknown): void =>
    this.#arrived.goOn(refusal instanceof NotHere ? this.#decided() : this.#decided(rejected(refusal)))

  readonly broken = (fault: unknown): void => {
    this.#options.log.error({ fault }, 'hit road')
    this.#arrived.response.destroy()
  }

  /** What may not is refused on the usual road, by the same two checks. */
  #mayAsk(caller: Caller): boolean {
    const { head, validated, enough } = this.#arrived
    const version = head.headers['wazuh-app-version']
    try {
      if (version !== undefined) checkAppVersion(version, this.#options.managerVersion())
      if (enough.has(caller.permissions)) return true
      authorise(caller, validated.endpoint, validated.query)
      enough.add(caller.permissions)
      return true
    } catch (refusal) {
      if (refusal instanceof EdgeError) return false
      throw refusal
    }
  }

  #ask(caller: Caller): Answer | Promise<Answer> {
    const { validated, head, response } = this.#arrived
    return this.#options.handle(toAsk(validated, { caller, headers: head.headers, id: this.#id }, response))
  }

  #decided(caller?: Promise<Caller>, answer?: Promise<Answer>): Decided {
    return {
      id: this.#id,
      waited: performance.now() - this.#began,
      ...(caller && { caller }),
      ...(answer && { answer }),
    }
  }

  #write({ status, headers, bytes }: Representation, caller: Caller, answer: Answer): void {
    const { request, response, validated } = this.#arrived
    const own = ['x-request-id', this.#id, 'x-content-type-options', 'nosniff', ...headers]
    sendWhole(response, bytes === undefined ? { status, headers: own } : { status, headers: own, bytes })
    const line = {
      reqId: this.#id,
      method: request.method,
      route: validated.endpoint.path,
      status,
      elapsed: performance.now() - this.#began,
      caller: caller.name,
      client: this.#client,
    }
    this.#options.log.info(requestLine(line), 'request')
    this.#options.observe?.(eventOfHit(line, validated.endpoint, answer, bytes?.length ?? 0))
  }
}

/** Nobody may look at it before the usual road does; that is no unhandled rejection. */
function rejected(fault: unknown): Promise<never> {
  const promise = Promise.reject(fault)
  promise.catch(() => undefined)
  return promise
}
