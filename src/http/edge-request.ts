/** Makes the EdgeRequest of a validated request: typed, canonical, without the raw URL. */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Endpoint, Priority, ReadEndpoint, WriteEndpoint } from '../catalogue/endpoint.ts'
import { kinds } from '../catalogue/schemas/kinds.ts'
import { allows } from '../core/access.ts'
import {
  type Caller,
  type EdgeRead,
  type EdgeRequest,
  type EdgeWrite,
  NO_BODY,
  NO_COST,
  priorityOf,
  type RequestBody,
  type RequestClient,
  type RequestCost,
  type Reuse,
} from '../core/request.ts'
import type { Trace } from '../core/trace.ts'
import type { Charge } from './authenticate.ts'
import { canonicalText, canonicalValues, type Flags, type Values } from './parameters.ts'
import { badValue } from './validation.ts'

const PURGE = 'cache:purge'
const IPV4 = new RegExp(kinds.ips.pattern)

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

export interface ReadParts {
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

export interface RequestParts extends ReadParts {
  readonly body: RequestBody
}

export function toEdgeRequest(url: ValidatedUrl, parts: RequestParts): EdgeRequest {
  const { endpoint } = url
  return endpoint.method === 'GET' ? toEdgeRead(endpoint, url, parts) : new ClientWrite(endpoint, url, parts)
}

export function toEdgeRead(endpoint: ReadEndpoint, url: ValidatedUrl, parts: ReadParts): EdgeRead {
  return new ClientRead(endpoint, url, parts)
}

/** The request is its own `client`, and makes the abort signal when it is first read: a hit needs none. */
abstract class ClientRequest<E extends Endpoint> implements RequestClient {
  readonly endpoint: E
  readonly params: EdgeRequest['params']
  readonly query: EdgeRequest['query']
  readonly caller: Caller
  readonly waitForComplete: boolean
  readonly returnMinimal: boolean
  readonly priority: Priority
  readonly requestId: string
  readonly extent = 'whole'
  readonly client: RequestClient = this
  readonly #connection: ReadParts['client']
  #signal: AbortSignal | undefined
  declare readonly trace?: Trace

  constructor(endpoint: E, { params, query, flags }: ValidatedUrl, { caller, headers, id, client, trace }: ReadParts) {
    this.endpoint = endpoint
    this.params = params
    this.query = query
    this.caller = caller
    this.waitForComplete = flags.waitForComplete
    this.returnMinimal = endpoint.minimal !== undefined && prefersMinimal(headers.prefer)
    this.priority = priorityOf(endpoint)
    this.requestId = id
    this.#connection = client
    if (trace !== undefined) this.trace = trace
  }

  get signal(): AbortSignal {
    this.#signal ??= disconnectSignal(this.#connection?.response)
    return this.#signal
  }
}

class ClientWrite extends ClientRequest<WriteEndpoint> implements EdgeWrite {
  readonly kind = 'write'
  readonly body: RequestBody
  readonly clientAddress: string

  constructor(endpoint: WriteEndpoint, url: ValidatedUrl, parts: RequestParts) {
    super(endpoint, url, parts)
    this.body = parts.body
    this.clientAddress = parts.clientAddress
  }
}

/** Admission has charged writes. Copies of a read refer to this object as their cost, so that the read is charged once. */
class ClientRead extends ClientRequest<ReadEndpoint> implements EdgeRead, RequestCost {
  readonly kind = 'read'
  readonly reuse: Reuse
  readonly copies = 'unknown'
  readonly deadline = Number.POSITIVE_INFINITY
  readonly cost: RequestCost
  readonly #clientAddress: string
  #charge: Charge | undefined

  constructor(endpoint: ReadEndpoint, url: ValidatedUrl, parts: ReadParts) {
    super(endpoint, url, parts)
    this.reuse = reuseOf(parts.headers, parts.caller)
    this.cost = parts.charge === undefined ? NO_COST : this
    this.#clientAddress = parts.clientAddress
    this.#charge = parts.charge
  }

  charge(): void {
    const charge = this.#charge
    this.#charge = undefined
    charge?.(this.caller, this.#clientAddress)
  }
}

/**
 * Returns what the cache directives of a request mean (RFC 9111 section 5.2.1). They are ignored for callers who may not
 * purge: such a caller could otherwise turn each of its requests into an upstream call.
 */
function reuseOf(headers: IncomingHttpHeaders, caller: Caller): Reuse {
  // Pragma counts only without Cache-Control (section 5.4).
  const text = headers['cache-control'] ?? headers.pragma
  if (text === undefined || !allows(caller.permissions, PURGE)) return 'allowed'
  const words = text
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
  if (words.includes('no-store')) return 'noStore'
  const isNoCache = words.includes('no-cache') || words.some((word) => /^max-age="?0+"?$/.test(word))
  return isNoCache ? 'noCache' : 'allowed'
}

/** Whether the first `return` preference is `minimal` (RFC 7240 section 2). Parameters of preferences are ignored. */
function prefersMinimal(header: string | readonly string[] | undefined): boolean {
  const preferences = [header ?? []].flat().flatMap((text) => text.split(','))
  const values = preferences.flatMap((text) => {
    const [, value] = /^\s*return\s*=\s*("?[a-z]+"?)\s*(?:;|$)/i.exec(text) ?? []
    return value === undefined ? [] : value.replaceAll('"', '').toLowerCase()
  })
  return values[0] === 'minimal'
}

/** Returns a signal that aborts when the connection closes before the response is sent. */
function disconnectSignal(response: ServerResponse | undefined): AbortSignal {
  const controller = new AbortController()
  // The client may have disconnected already, for example while its password was verified.
  if (response?.destroyed && !response.writableFinished) controller.abort()
  else
    response?.once('close', () => {
      if (!response.writableFinished) controller.abort()
    })
  return controller.signal
}

/** Returns the body of a validated request. `clientAddress` fills the fields that take the address of the client. */
export function requestBody(endpoint: Endpoint, request: FastifyRequest, clientAddress: string): RequestBody {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body === undefined) return NO_BODY
  if (body.kind === 'upload') {
    const type = request.headers['content-type'] === 'application/xml' ? 'application/xml' : 'application/octet-stream'
    return { kind: 'upload', type, bytes: request.body as Buffer }
  }
  const sent = request.body as Readonly<Record<string, unknown>>
  const fields: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(body.fields)) {
    const value = sent[name] ?? (field.fill === 'clientAddress' ? ipv4(clientAddress, name) : undefined)
    if (value !== undefined) fields[name] = canonicalField(field.canonical, value)
  }
  return { kind: 'fields', fields }
}

/** The manager registers IPv4 addresses only. Any other address is rejected with 606, as by the real API. */
function ipv4(client: string, name: string): string {
  if (!IPV4.test(client)) throw badValue('ips', name)
  return client
}

function canonicalField(canonical: Parameters<typeof canonicalText>[0], value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((one) => canonicalField(canonical === 'agentIds' ? 'agentId' : canonical, one))
  return typeof value === 'string' ? canonicalText(canonical, value) : value
}
