/** The EdgeRequest of a validated request: typed, canonical, without the raw URL. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Endpoint, Priority, ReadEndpoint, WriteEndpoint } from '../contracts/endpoint.ts'
import { Cancellation, type CancelSignal } from '../core/cancellation.ts'
import type { ClientFlow } from '../core/node-call.ts'
import { Presence } from '../core/presence.ts'
import {
  type Caller,
  type EdgeRead,
  type EdgeRequest,
  type EdgeWrite,
  NO_COST,
  type RequestBody,
  type RequestClient,
  type RequestCost,
  type Reuse,
} from '../core/request.ts'
import type { Trace } from '../core/trace.ts'
import { canonicalValues, type Flags, type Values } from './parameters.ts'
import { prefersMinimal, reuseOf } from './preferences.ts'
import type { Charge } from './rate-limit.ts'
import { flowOf } from './request-flow.ts'

/** What a URL means once it is validated. It depends on nothing but the text of the URL, and is never changed. */
export interface ValidatedUrl {
  readonly endpoint: Endpoint
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly flags: Flags
}

export function validatedUrl(endpoint: Endpoint, params: Values, query: Values, flags: Flags): ValidatedUrl {
  return {
    endpoint,
    params: canonicalValues(endpoint.params, params),
    query: canonicalValues(endpoint.query, query),
    flags,
  }
}

interface ReadParts {
  readonly caller: Caller
  readonly headers: IncomingHttpHeaders
  readonly id: string
  readonly clientAddress: string
  readonly trace?: Trace | undefined
  /** Absent: the request has no client that could disconnect. Its `response` is undefined once it has been answered. */
  readonly client?: { readonly response: ServerResponse | undefined }
  /** Charges a read that turns out to cost; absent: the request is no client's. */
  readonly charge?: Charge
}

interface RequestParts extends ReadParts {
  readonly body: RequestBody
}

export function toEdgeRequest(url: ValidatedUrl, parts: RequestParts): EdgeRequest {
  const { endpoint } = url
  return endpoint.method === 'GET' ? new ClientRead(endpoint, url, parts) : new ClientWrite(endpoint, url, parts)
}

export function toEdgeRead(endpoint: ReadEndpoint, url: ValidatedUrl, parts: ReadParts): EdgeRead {
  return new ClientRead(endpoint, url, parts)
}

/** The request is its own `client`, and makes signal and presence when they are first read: a hit needs none. */
abstract class ClientRequest<E extends Endpoint> implements RequestClient {
  readonly endpoint: E
  readonly params: EdgeRequest['params']
  readonly query: EdgeRequest['query']
  readonly caller: Caller
  readonly waitForComplete: boolean
  readonly returnMinimal: boolean
  /** Of a request that serves no other one. */
  readonly priority: Priority
  readonly requestId: string
  readonly extent = 'whole'
  readonly client: RequestClient = this
  readonly clientAddress: string
  readonly #connection: ReadParts['client']
  #flow: ClientFlow | undefined
  #signal: CancelSignal | undefined
  #presence: Presence | undefined
  declare readonly trace?: Trace

  constructor(endpoint: E, { params, query, flags }: ValidatedUrl, parts: ReadParts) {
    const { caller, headers, id, client, clientAddress, trace } = parts
    this.endpoint = endpoint
    this.params = params
    this.query = query
    this.caller = caller
    this.waitForComplete = flags.waitForComplete
    this.returnMinimal = endpoint.minimal !== undefined && prefersMinimal(headers.prefer)
    this.priority = endpoint.priority ?? (endpoint.method === 'GET' ? 'interactive' : 'write')
    this.requestId = id
    this.#connection = client
    this.clientAddress = clientAddress
    if (trace !== undefined) this.trace = trace
  }

  get flow(): ClientFlow {
    this.#flow ??= flowOf(this, `${this.caller.name} ${this.clientAddress}`, this.#connection?.response)
    return this.#flow
  }

  get signal(): CancelSignal {
    this.#signal ??= departureOf(this.presence)
    return this.#signal
  }

  get presence(): Presence {
    this.#presence ??= presenceOf(this.#connection?.response)
    return this.#presence
  }
}

class ClientWrite extends ClientRequest<WriteEndpoint> implements EdgeWrite {
  readonly kind = 'write'
  readonly body: RequestBody

  constructor(endpoint: WriteEndpoint, url: ValidatedUrl, parts: RequestParts) {
    super(endpoint, url, parts)
    this.body = parts.body
  }
}

/** Admission has charged writes. Copies of a read refer to this object as their cost, so that the read is charged once. */
class ClientRead extends ClientRequest<ReadEndpoint> implements EdgeRead, RequestCost {
  readonly kind = 'read'
  readonly reuse: Reuse
  readonly effort = 'bounded'
  readonly copies = 'unknown'
  readonly deadline = Number.POSITIVE_INFINITY
  readonly late = undefined
  readonly cost: RequestCost
  #charge: Charge | undefined

  constructor(endpoint: ReadEndpoint, url: ValidatedUrl, parts: ReadParts) {
    super(endpoint, url, parts)
    this.reuse = reuseOf(parts.headers, parts.caller)
    this.cost = parts.charge === undefined ? NO_COST : this
    this.#charge = parts.charge
  }

  charge(): void {
    const charge = this.#charge
    this.#charge = undefined
    charge?.(this.caller, this.clientAddress, this.flow.isBulk)
  }
}

/** Returns a signal that aborts when the client leaves before the response is sent. */
function departureOf(presence: Presence): CancelSignal {
  const controller = new Cancellation()
  // The client may have left already, for example while its password was verified.
  if (presence.state === 'left') controller.abort()
  presence.onChange(() => {
    if (presence.state === 'left') controller.abort()
  })
  return controller
}

function presenceOf(response: ServerResponse | undefined): Presence {
  const presence = new Presence()
  if (response === undefined) return presence
  const { socket } = response.req
  const halfClose = () => presence.set('halfClosed')
  const end = () => {
    socket.off('end', halfClose)
    if (!response.writableFinished) presence.set('left')
  }
  socket.once('end', halfClose)
  if (socket.readableEnded) halfClose()
  if (response.destroyed) end()
  else response.once('close', end)
  return presence
}
