/**
 * From the text of a URL to the EdgeRequest of a validated request: typed, canonical, without the raw URL. Names and
 * values of a query or a form are parsed strictly: each name is decoded once, `+` is a space, the values of a repeated
 * name are joined with a comma (as the real API does for lists), or are refused; nothing is nested or dropped. Each value
 * then has one canonical form, so that equal requests have one path, one cache key and one response.
 */
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Canonical, Endpoint, Param, Priority, ReadEndpoint, WriteEndpoint } from '../catalogue/endpoint.ts'
import { allows } from '../core/access.ts'
import { EdgeError, type ErrorCode } from '../core/errors.ts'
import { BULK_MARK } from '../core/node-call.ts'
import { Presence } from '../core/presence.ts'
import {
  type Caller,
  type EdgeRead,
  type EdgeRequest,
  type EdgeWrite,
  NO_COST,
  priorityOf,
  type RequestBody,
  type RequestClient,
  type RequestCost,
  type Reuse,
} from '../core/request.ts'
import type { Trace } from '../core/trace.ts'
import { useConnection } from './connection-use.ts'
import type { Charge } from './rate-limit.ts'

export type Values = Record<string, string>

interface ParameterLimits {
  readonly count: number
  /** The error for more parameters: 604 for queries, 607 for forms. They would end the API process of the manager. */
  readonly tooMany: ErrorCode
}

/** Returns an object without a prototype, so that `__proto__` is a name like any other. */
export function parseParameters(
  text: string,
  limits: ParameterLimits,
  separatorOf: (name: string) => string = () => ',',
): Values {
  const values: Values = Object.create(null)
  if (text === '') return values
  const pairs = text.split('&', limits.count + 1)
  if (pairs.length > limits.count) {
    throw new EdgeError(limits.tooMany, `. At most ${limits.count} parameters are read`)
  }
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeText(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decodeText(pair.slice(equals + 1))
    const before = values[name]
    values[name] = before === undefined ? value : before + separatorOf(name) + value
  }
  return values
}

/**
 * Decodes a name or a value. A text that cannot be decoded stays as it is, as in the real API: `search=100%` searches for
 * `100%`. The text is decoded once and is encoded again for the node, so `%zz` never becomes another text there.
 */
export function decodeText(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}

/** Returns text of a client as an error message may contain it: at most 100 characters, no control characters. */
export function printable(text: string): string {
  const clean = text.slice(0, 100).replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, '?')
  return text.length > 100 ? `${clean}…` : clean
}

/** Parameters that every endpoint takes. They are set if their name is present; the value is ignored (contract). */
export interface Flags {
  readonly pretty: boolean
  readonly waitForComplete: boolean
}

export const NO_FLAGS: Flags = { pretty: false, waitForComplete: false }

/** Removes the flags from a query, before names are checked, and returns them. */
export function takeFlags(values: Values): Flags {
  const flags = { pretty: 'pretty' in values, waitForComplete: 'wait_for_complete' in values }
  delete values.pretty
  delete values.wait_for_complete
  return flags
}

/** `1` and `0001` both mean agent 001 (contract). */
function canonicalAgentId(text: string): string {
  return text.replace(/^0+(?=\d)/, '').padStart(3, '0')
}

const canonicalForms: Readonly<Record<Canonical, (text: string) => string>> = {
  agentId: canonicalAgentId,
  agentIds: (text) => text.split(',').map(canonicalAgentId).join(','),
  agentIdSet: (text) => canonicalSet(text.split(',').map(canonicalAgentId)),
  nameSet: (text) => canonicalSet(text.split(',')),
  lowerCase: (text) => text.toLowerCase(),
}

/** For lists in which neither order nor duplicates have a meaning. */
function canonicalSet(values: readonly string[]): string {
  return [...new Set(values)].sort().join(',')
}

export function canonicalText(canonical: Canonical | undefined, text: string): string {
  return canonical === undefined ? text : canonicalForms[canonical](text)
}

/** Returns the values that the endpoint describes, in the order of the description. */
export function canonicalValues(described: Readonly<Record<string, Param>>, values: Values): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, param] of Object.entries(described)) {
    const value = values[name]
    if (value === undefined) continue
    // In a URL, `sort=+name` is decoded to ` name`. Both mean ascending.
    const text = param.kind === 'sort' && value.startsWith(' ') ? `+${value.slice(1)}` : value
    result[name] = canonicalText(param.canonical, text)
  }
  return result
}

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

/** The request is its own `client`, and makes signal and presence when they are first read: a hit needs none. */
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
  readonly #address: string
  #flow: string | undefined
  #signal: AbortSignal | undefined
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
    this.priority = priorityOf(endpoint)
    this.requestId = id
    this.#connection = client
    this.#address = clientAddress
    if (trace !== undefined) this.trace = trace
  }

  get flow(): string {
    if (this.#flow === undefined) {
      const party = `${this.caller.name} ${this.#address}`
      const { connection, isBulk } = useConnection(this.#connection?.response, party)
      this.presence.isBulk = isBulk
      this.#flow = `${party} ${connection}${isBulk ? BULK_MARK : ''}`
    }
    return this.#flow
  }

  get signal(): AbortSignal {
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
  readonly effort = 'bounded'
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

const PURGE = 'cache:purge'

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

/** Returns a signal that aborts when the client leaves before the response is sent. */
function departureOf(presence: Presence): AbortSignal {
  const controller = new AbortController()
  const check = () => {
    if (presence.state === 'left') controller.abort()
  }
  presence.onChange(check)
  // The client may have left already, for example while its password was verified.
  check()
  return controller.signal
}

/** Returns the presence of the client that awaits the response. */
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
