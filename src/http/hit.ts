/** One request on the short road (hit-road.ts). Nothing waits that need not: each turn costs a hit as much as its look. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { EdgeError } from '../core/errors.ts'
import type { Caller, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span } from '../core/trace.ts'
import type { Head } from '../listener/head.ts'
import { checkAppVersion } from './app-version.ts'
import { toAsk, type Validated } from './ask.ts'
import { type Authenticate, NotHere } from './authenticate.ts'
import { authorise } from './authorise.ts'
import type { AddressOf } from './client-address.ts'
import { eventOfHit, type LoggedHit, type Observe } from './observe.ts'
import { wantedBy } from './reply.ts'
import { type JsonAnswer, type Representation, represent } from './represent.ts'
import { sendWhole } from './whole-answer.ts'

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
