/**
 * The short road of a hit, in front of the router: for a URL that was validated before, the same functions decide in the
 * same order (authenticate → authorise → handle → represent), and what is kept goes out at once. Everything else goes
 * on down the usual road, and takes along what has been decided, so that nothing is counted, asked or written twice.
 */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyBaseLogger } from 'fastify'
import { EdgeError } from '../errors.ts'
import type { Answer, Caller, Handle } from '../pipeline/ports.ts'
import type { Span } from '../pipeline/trace.ts'
import { checkAppVersion } from './app-version.ts'
import { toAsk, type Validated } from './ask.ts'
import { type Authenticate, NotHere } from './authenticate.ts'
import { authorise } from './authorise.ts'
import type { AddressOf } from './client-address.ts'
import { eventOfHit, type Observe } from './observe.ts'
import { Recent } from './recent.ts'
import { wantedBy } from './reply.ts'
import { type Representation, represent } from './represent.ts'
import { requestLine } from './request-log.ts'
import type { BeginTrace } from './trace.ts'

/** URLs that are known, and how long they may be: else their number were no bound. */
const URLS = 5000
const LONGEST_URL = 512
/** Bytes up to which copying is cheaper than a vectored write. */
const SHORT = 16_384
const NO_OPTIONS = Object.freeze({})

type Serve = (request: IncomingMessage, response: ServerResponse) => void

export interface HitRoadOptions {
  readonly handle: Handle
  readonly log: FastifyBaseLogger
  readonly compressFrom?: number
  readonly observe?: Observe
  readonly beginTrace?: BeginTrace
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
  readonly trace?: Span | undefined
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
  const known = new Recent<Validated>(URLS)
  const taken = new WeakMap<IncomingMessage, Decided>()
  let authenticate: Authenticate | undefined

  return {
    inFront: (handler) => (request, response) => {
      const validated = isRead(request) ? known.find(request.url ?? '') : undefined
      if (validated === undefined || authenticate === undefined) return handler(request, response)
      const goOn = (decided: Decided) => {
        taken.set(request, decided)
        handler(request, response)
      }
      const id = randomUUID()
      const trace = options.beginTrace?.({ id, raw: request })
      // What is recorded shows every stage.
      if (trace?.recorded) return goOn({ id, waited: 0, trace })
      new Hit(options, { id, trace, validated, request, response, goOn }).serve(authenticate)
    },
    open: (first) => {
      authenticate = first
    },
    learn: (url, validated) => {
      if (url.length <= LONGEST_URL) known.learn(url, validated)
    },
    decided: (request) => taken.get(request),
  }
}

function isRead({ method, headers }: IncomingMessage): boolean {
  return (method === 'GET' || method === 'HEAD') && headers.expect === undefined
}

interface Arrived {
  readonly id: string
  readonly trace: Span | undefined
  readonly validated: Validated
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** What cannot be answered here goes on down the usual road. */
  goOn(decided: Decided): void
}

class Hit {
  readonly #options: HitRoadOptions
  readonly #arrived: Arrived
  readonly #id: string
  readonly #began = performance.now()
  readonly #client: string

  constructor(options: HitRoadOptions, arrived: Arrived) {
    this.#options = options
    this.#arrived = arrived
    this.#id = arrived.id
    this.#client = options.clientAddress({ raw: arrived.request })
  }

  /** Whoever is known is let in without waiting: each turn that a hit waits costs as much as its look into the cache. */
  serve(authenticate: Authenticate): void {
    const raw = this.#arrived.request
    try {
      const arrival = { raw, headers: raw.headers, clientAddress: this.#client, routeOptions: NO_OPTIONS }
      const caller = authenticate(arrival)
      if (caller instanceof Promise) caller.then((found) => this.#admit(found), this.#refused).catch(this.#broken)
      else this.#admit(caller).catch(this.#broken)
    } catch (refusal) {
      this.#refused(refusal)
    }
  }

  async #admit(caller: Caller): Promise<void> {
    const { validated, request, goOn } = this.#arrived
    if (!this.#mayAsk(caller)) return goOn(this.#decided(Promise.resolve(caller)))
    let answer: Answer
    try {
      answer = await this.#ask(caller)
    } catch (fault) {
      return goOn(this.#decided(Promise.resolve(caller), rejected(fault)))
    }
    if (answer.kind !== 'json' || answer.kept === undefined)
      return goOn(this.#decided(Promise.resolve(caller), Promise.resolve(answer)))
    const found = represent(answer, wantedBy(request.headers, validated.flags, this.#options.compressFrom))
    this.#write(found instanceof Promise ? await found : found, caller, answer)
  }

  readonly #refused = (refusal: unknown): void =>
    this.#arrived.goOn(refusal instanceof NotHere ? this.#decided() : this.#decided(rejected(refusal)))

  readonly #broken = (fault: unknown): void => {
    this.#options.log.error({ fault }, 'hit road')
    this.#arrived.response.destroy()
  }

  /** What may not is refused on the usual road, by the same two checks. */
  #mayAsk(caller: Caller): boolean {
    const { request, validated } = this.#arrived
    const version = request.headers['wazuh-app-version']
    try {
      if (version !== undefined) checkAppVersion(version, this.#options.managerVersion())
      authorise(caller, validated.endpoint, validated.query)
      return true
    } catch (refusal) {
      if (refusal instanceof EdgeError) return false
      throw refusal
    }
  }

  #ask(caller: Caller): Promise<Answer> {
    const { validated, request, response, trace } = this.#arrived
    return this.#options.handle(toAsk(validated, { caller, headers: request.headers, id: this.#id, trace }, response))
  }

  #decided(caller?: Promise<Caller>, answer?: Promise<Answer>): Decided {
    return {
      id: this.#id,
      trace: this.#arrived.trace,
      waited: performance.now() - this.#began,
      ...(caller && { caller }),
      ...(answer && { answer }),
    }
  }

  #write({ status, headers, bytes }: Representation, caller: Caller, answer: Answer): void {
    const { request, response, validated } = this.#arrived
    response.writeHead(status, ['x-request-id', this.#id, 'x-content-type-options', 'nosniff', ...headers])
    // A short body goes out in one piece with its head, byte for byte, where a Buffer would be a second write.
    if (bytes !== undefined && bytes.length <= SHORT) response.end(bytes.toString('latin1'), 'latin1')
    else response.end(bytes)
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
