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
import { checkAppVersion } from './app-version.ts'
import { toAsk, type Validated } from './ask.ts'
import { type Arrival, NotHere } from './authenticate.ts'
import { authorise } from './authorise.ts'
import { Recent } from './recent.ts'
import { wantedBy } from './reply.ts'
import { type Representation, represent } from './represent.ts'
import { requestLine } from './request-log.ts'

/** URLs that are known, and how long they may be: else their number were no bound. */
const URLS = 5000
const LONGEST_URL = 512
/** Bytes up to which copying is cheaper than a vectored write. */
const SHORT = 16_384

type Serve = (request: IncomingMessage, response: ServerResponse) => void

export interface HitRoadOptions {
  readonly handle: Handle
  readonly log: FastifyBaseLogger
  readonly compressFrom?: number
  clientAddress(request: { readonly raw: IncomingMessage }): string
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
  open(authenticate: (arrival: Arrival) => Promise<Caller>): void
  /** This URL was found valid, and its answer may be kept. */
  learn(url: string, validated: Validated): void
  decided(request: IncomingMessage): Decided | undefined
}

export function createHitRoad(options: HitRoadOptions): HitRoad {
  // What validation makes of a URL depends on nothing but its text.
  const known = new Recent<Validated>(URLS)
  const taken = new WeakMap<IncomingMessage, Decided>()
  let authenticate: ((arrival: Arrival) => Promise<Caller>) | undefined

  return {
    inFront: (handler) => (request, response) => {
      const validated = isRead(request) ? known.find(request.url ?? '') : undefined
      if (validated === undefined || authenticate === undefined) handler(request, response)
      else
        new Hit(options, validated, request, response)
          .serve(authenticate)
          .then((decided) => {
            if (decided === undefined) return
            taken.set(request, decided)
            handler(request, response)
          })
          .catch((fault: unknown) => {
            options.log.error({ fault }, 'hit road')
            response.destroy()
          })
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

class Hit {
  readonly #options: HitRoadOptions
  readonly #validated: Validated
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  readonly #id = randomUUID()
  readonly #began = performance.now()
  readonly #client: string

  constructor(options: HitRoadOptions, validated: Validated, request: IncomingMessage, response: ServerResponse) {
    this.#options = options
    this.#validated = validated
    this.#request = request
    this.#response = response
    this.#client = options.clientAddress({ raw: request })
  }

  /** Answers, or gives what the usual road is to take along. */
  async serve(authenticate: (arrival: Arrival) => Promise<Caller>): Promise<Decided | undefined> {
    let caller: Caller
    try {
      caller = await this.#authenticated(authenticate)
    } catch (refusal) {
      return refusal instanceof NotHere ? this.#decided() : this.#decided(rejected(refusal))
    }
    const admitted = Promise.resolve(caller)
    if (!this.#mayAsk(caller)) return this.#decided(admitted)
    let answer: Answer
    try {
      answer = await this.#ask(caller)
    } catch (fault) {
      return this.#decided(admitted, rejected(fault))
    }
    if (answer.kind !== 'json' || answer.kept === undefined) return this.#decided(admitted, Promise.resolve(answer))
    const { headers } = this.#request
    const found = represent(answer, wantedBy(headers, this.#validated.flags, this.#options.compressFrom))
    this.#write(found instanceof Promise ? await found : found, caller)
    return undefined
  }

  #authenticated(authenticate: (arrival: Arrival) => Promise<Caller>): Promise<Caller> {
    const { headers } = this.#request
    return authenticate({ raw: this.#request, headers, clientAddress: this.#client, routeOptions: {} })
  }

  /** What may not is refused on the usual road, by the same two checks. */
  #mayAsk(caller: Caller): boolean {
    const version = this.#request.headers['wazuh-app-version']
    try {
      if (version !== undefined) checkAppVersion(version, this.#options.managerVersion())
      authorise(caller, this.#validated.endpoint, this.#validated.query)
      return true
    } catch (refusal) {
      if (refusal instanceof EdgeError) return false
      throw refusal
    }
  }

  #ask(caller: Caller): Promise<Answer> {
    const { headers } = this.#request
    return this.#options.handle(toAsk(this.#validated, { caller, headers, id: this.#id }, this.#response))
  }

  #decided(caller?: Promise<Caller>, answer?: Promise<Answer>): Decided {
    return {
      id: this.#id,
      waited: performance.now() - this.#began,
      ...(caller && { caller }),
      ...(answer && { answer }),
    }
  }

  #write({ status, headers, bytes }: Representation, caller: Caller): void {
    const response = this.#response
    response.writeHead(status, ['x-request-id', this.#id, 'x-content-type-options', 'nosniff', ...headers])
    // A short body goes out in one piece with its head, byte for byte, where a Buffer would be a second write.
    if (bytes !== undefined && bytes.length <= SHORT) response.end(bytes.toString('latin1'), 'latin1')
    else response.end(bytes)
    const { method } = this.#request
    const route = this.#validated.endpoint.path
    const elapsed = performance.now() - this.#began
    this.#options.log.info(
      {
        reqId: this.#id,
        ...requestLine({ method, route, status, elapsed, caller: caller.name, client: this.#client }),
      },
      'request',
    )
  }
}

/** Nobody may look at it before the usual road does; that is no unhandled rejection. */
function rejected(fault: unknown): Promise<never> {
  const promise = Promise.reject(fault)
  promise.catch(() => undefined)
  return promise
}
