import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { EdgeError } from '../core/errors.ts'
import { RecentlyUsed } from '../core/recently-used.ts'
import type { Caller, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span } from '../core/trace.ts'
import { type Head, headOf } from '../listener/request-head.ts'
import { authorise, checkAppVersion } from './admit.ts'
import { type Authenticate, NotHere } from './authenticate.ts'
import type { AddressOf } from './client-address.ts'
import { toAsk, type Validated } from './edge-request.ts'
import { wantedBy } from './reply.ts'
import { type JsonAnswer, type Representation, represent } from './representation.ts'
import { requestLine, requestLines, type WriteLine } from './request-log.ts'
import { type BeginTrace, eventOfHit, type LoggedHit, type Observe } from './request-state.ts'
import { sendWhole } from './write-response.ts'

/**
 * The short road of a hit, in front of the router: for a URL that was validated before, the same functions decide in the
 * same order (authenticate → authorise → handle → represent), and what is kept goes out at once. Everything else goes
 * on down the usual road, and takes along what has been decided, so that nothing is counted, asked or written twice.
 */

/** URLs that are known, and how long they may be: else their number were no bound. */
const URLS = 5000
const LONGEST_URL = 512

type Serve = (request: IncomingMessage, response: ServerResponse) => void

export interface HitRoadOptions {
  readonly handle: Handler
  readonly log: FastifyBaseLogger
  /** Takes whole lines of the log; absent: they go through the logger. */
  readonly writeLine?: WriteLine
  readonly compressFrom?: number
  readonly observe?: Observe
  readonly beginTrace?: BeginTrace
  readonly clientAddress: AddressOf
  managerVersion(): string | undefined
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
  const known = new RecentlyUsed<Known>(URLS)
  const taken = new WeakMap<IncomingMessage, Decided>()
  const logHit = logOf(options)
  let authenticate: Authenticate | undefined

  return {
    inFront: (handler) => {
      const goOn: Way['goOn'] = (request, response, decided) => {
        taken.set(request, decided)
        handler(request, response)
      }
      const way: Way = { ...options, logHit, goOn }
      return (request, response) => {
        const head = headOf(request)
        const found = isRead(request, head) ? known.get(request.url ?? '') : undefined
        if (found === undefined || authenticate === undefined) {
          handler(request, response)
          return
        }
        const id = randomUUID()
        const trace = options.beginTrace?.({ id, raw: request })
        // What is recorded shows every stage.
        if (trace?.recorded) goOn(request, response, { id, waited: 0, trace })
        else new Hit(way, { id, trace, known: found, head, request, response }).serve(authenticate)
      }
    },
    open: (first) => {
      authenticate = first
    },
    learn: (url, validated) => {
      if (url.length <= LONGEST_URL) known.set(url, { validated, enough: new WeakSet() })
    },
    decided: (request) => taken.get(request),
  }
}

function isRead({ method }: IncomingMessage, { headers }: Head): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.expect === undefined
}

function logOf({ writeLine, log }: HitRoadOptions): Way['logHit'] {
  if (writeLine !== undefined) return requestLines(writeLine)
  return (hit: LoggedHit) => log.info(requestLine(hit), 'request')
}

/** One request on the short road (hit-road.ts). Nothing waits that need not: each turn costs a hit as much as its look. */

const NO_OPTIONS = Object.freeze({})

/** What is known of a request before the router sees it. */
export interface Decided {
  readonly id: string
  /** Milliseconds since it arrived. */
  readonly waited: number
  /** Rejects as authentication and authorisation do; absent: still to be decided. */
  readonly caller?: Promise<Caller>
  readonly answer?: Promise<EdgeResponse>
  readonly trace?: Span | undefined
}

/** What is known of a URL. */
export interface Known {
  readonly validated: Validated
  /** The rights that were found to be enough for it. A list of rights never changes: a caller's new ones are another. */
  readonly enough: WeakSet<readonly string[]>
}

export interface Way {
  readonly handle: Handler
  readonly log: FastifyBaseLogger
  readonly compressFrom?: number
  readonly observe?: Observe
  readonly clientAddress: AddressOf
  managerVersion(): string | undefined
  logHit(hit: LoggedHit): void
  /** What cannot be answered here goes on down the usual road. */
  goOn(request: IncomingMessage, response: ServerResponse, decided: Decided): void
}

export interface Arrived {
  readonly id: string
  readonly trace: Span | undefined
  readonly known: Known
  readonly head: Head
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

export class Hit {
  readonly #way: Way
  readonly #arrived: Arrived
  readonly #began = performance.now()

  constructor(way: Way, arrived: Arrived) {
    this.#way = way
    this.#arrived = arrived
  }

  /** Never throws. */
  serve(authenticate: Authenticate): void {
    try {
      const caller = this.#enter(authenticate)
      if (caller === undefined) return
      if (caller instanceof Promise) this.#wait(caller, this.#admit, this.#refused)
      else this.#admit(caller)
    } catch (fault) {
      this.#broken(fault)
    }
  }

  /** Who asks; `undefined`: refused. */
  #enter(authenticate: Authenticate): Caller | Promise<Caller> | undefined {
    const { head, request: raw } = this.#arrived
    const { headers } = head
    try {
      return authenticate({ raw, head, headers, clientAddress: this.#client(), routeOptions: NO_OPTIONS })
    } catch (refusal) {
      this.#refused(refusal)
      return undefined
    }
  }

  #client(): string {
    const { head, request: raw } = this.#arrived
    head.client ??= this.#way.clientAddress({ raw })
    return head.client
  }

  #admit(caller: Caller): void {
    if (!this.#mayAsk(caller)) {
      this.#goOn({ caller: Promise.resolve(caller) })
      return
    }
    const answer = this.#ask(caller)
    if (answer instanceof Promise) {
      const failed = () => this.#goOn({ caller: Promise.resolve(caller), answer })
      this.#wait(answer, (found) => this.#reply(caller, found), failed)
    } else {
      this.#reply(caller, answer)
    }
  }

  /** What may not is refused on the usual road, by the same two checks. */
  #mayAsk(caller: Caller): boolean {
    const { head, known } = this.#arrived
    const { endpoint, query } = known.validated
    const version = head.headers['wazuh-app-version']
    try {
      if (version !== undefined) checkAppVersion(version, this.#way.managerVersion())
      if (known.enough.has(caller.permissions)) return true
      authorise(caller, endpoint, query)
      known.enough.add(caller.permissions)
      return true
    } catch (refusal) {
      if (refusal instanceof EdgeError) return false
      throw refusal
    }
  }

  #ask(caller: Caller): EdgeResponse | Promise<EdgeResponse> {
    const { id, trace, known, head, response } = this.#arrived
    try {
      return this.#way.handle(toAsk(known.validated, { caller, headers: head.headers, id, trace }, response))
    } catch (fault) {
      return rejected(fault)
    }
  }

  #reply(caller: Caller, answer: EdgeResponse): void {
    if (answer.kind !== 'json' || answer.cached === undefined) {
      this.#goOn({ caller: Promise.resolve(caller), answer: Promise.resolve(answer) })
      return
    }
    const { known, head } = this.#arrived
    const found = represent(answer, wantedBy(head.headers, known.validated.flags, this.#way.compressFrom))
    if (found instanceof Promise) this.#wait(found, (made) => this.#write(made, caller, answer), this.#broken)
    else this.#write(found, caller, answer)
  }

  #write(representation: Representation, caller: Caller, answer: JsonAnswer): void {
    const { id, request, response, known } = this.#arrived
    const { endpoint } = known.validated
    const { status, bytes } = representation
    sendWhole(response, id, representation)
    const line: LoggedHit = {
      reqId: id,
      method: request.method === 'HEAD' ? 'HEAD' : 'GET',
      route: endpoint.path,
      status,
      elapsed: performance.now() - this.#began,
      caller: caller.name,
      client: this.#client(),
    }
    this.#way.logHit(line)
    this.#way.observe?.(eventOfHit(line, endpoint, answer, bytes?.length ?? 0))
  }

  #refused(refusal: unknown): void {
    this.#goOn(refusal instanceof NotHere ? {} : { caller: rejected(refusal) })
  }

  #goOn(decided: Pick<Decided, 'caller' | 'answer'>): void {
    const { id, trace, request, response } = this.#arrived
    this.#way.goOn(request, response, { id, trace, waited: performance.now() - this.#began, ...decided })
  }

  #wait<T>(value: Promise<T>, then: (value: T) => void, otherwise: (fault: unknown) => void): void {
    void value.then(then.bind(this), otherwise.bind(this)).catch((fault: unknown) => this.#broken(fault))
  }

  #broken(fault: unknown): void {
    this.#way.log.error({ fault }, 'hit road')
    this.#arrived.response.destroy()
  }
}

/** Nobody may look at it before the usual road does; that is no unhandled rejection. */
function rejected(fault: unknown): Promise<never> {
  const promise = Promise.reject(fault)
  promise.catch(() => undefined)
  return promise
}
