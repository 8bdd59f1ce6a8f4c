import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { kinds } from '../catalogue/schemas/kinds.ts'
import { allows } from '../core/permissions.ts'
import type { CacheDirectives, Caller, EdgeRequest, RequestBody } from '../core/request.ts'
import type { Trace } from '../core/trace.ts'
import { canonicalText, canonicalValues, type Flags, type Values } from './parameters.ts'
import { badValue } from './validation.ts'

/** From a validated request to an Ask: typed, canonical, with nothing of the raw URL left. */

const PURGE = 'cache:purge'
const IPV4 = new RegExp(kinds.ips.pattern)

/** What the URL of a request says, once it is validated. The same for each request of that URL, and never changed. */
export interface Validated {
  readonly endpoint: Endpoint
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  readonly flags: Flags
}

export function validated(endpoint: Endpoint, { params, query, flags }: FastifyRequest): Validated {
  return {
    endpoint,
    params: canonicalValues(endpoint.params, params as Values),
    query: canonicalValues(endpoint.query, query as Values),
    flags,
  }
}

export interface Asking {
  readonly caller: Caller
  readonly headers: IncomingHttpHeaders
  readonly id: string
  readonly body?: RequestBody | undefined
  /** Of the client; told for writes. */
  readonly client?: string
  readonly trace?: Trace | undefined
}

export function toAsk(validated: Validated, asking: Asking, response: ServerResponse): EdgeRequest {
  const { caller, headers, body, client, trace } = asking
  const directives = directivesOf(headers, caller)
  const ask: { -readonly [Name in keyof EdgeRequest]: EdgeRequest[Name] } = new Asked(validated, asking, response)
  if (body !== undefined) ask.body = body
  if (client !== undefined && validated.endpoint.method !== 'GET') ask.clientAddress = client
  if (directives !== undefined) ask.directives = directives
  if (trace !== undefined) ask.trace = trace
  return ask
}

/**
 * The signal is made only where somebody looks at it: a hit needs none. One getter serves all asks: one of its own for
 * each would give each a hidden class too, which keeps request and response in memory until the next long collection.
 */
class Asked {
  readonly endpoint: Endpoint
  readonly params: EdgeRequest['params']
  readonly query: EdgeRequest['query']
  readonly caller: Caller
  readonly waitForComplete: boolean
  readonly requestId: string
  declare readonly signal: AbortSignal
  readonly #response: ServerResponse
  #signal: AbortSignal | undefined

  constructor({ endpoint, params, query, flags }: Validated, { caller, id }: Asking, response: ServerResponse) {
    this.endpoint = endpoint
    this.params = params
    this.query = query
    this.caller = caller
    this.waitForComplete = flags.waitForComplete
    this.requestId = id
    this.#response = response
    // Its own, not inherited: a copy of an ask has a signal as well.
    Object.defineProperty(this, 'signal', Asked.#onDemand)
  }

  static readonly #onDemand = {
    enumerable: true,
    get(this: Asked): AbortSignal {
      this.#signal ??= leaving(this.#response)
      return this.#signal
    },
  }
}

/**
 * What the client asks of the cache (RFC 9111 section 5.2.1), heard only of callers who may purge: others could make
 * every request of theirs an upstream call.
 */
function directivesOf(headers: IncomingHttpHeaders, caller: Caller): CacheDirectives | undefined {
  // Pragma says something only where Cache-Control says nothing (section 5.4).
  const asked = headers['cache-control'] ?? headers.pragma
  if (asked === undefined) return undefined
  const words = asked
    .toLowerCase()
    .split(',')
    .map((word) => word.trim())
  const noStore = words.includes('no-store')
  const noCache = words.includes('no-cache') || words.some((word) => /^max-age="?0+"?$/.test(word))
  return (noCache || noStore) && allows(caller.permissions, PURGE) ? { noCache, noStore } : undefined
}

/** Aborted when the connection ends before the answer is out. */
function leaving(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  // It may have left while its password was checked or its file was read.
  if (response.destroyed && !response.writableFinished) controller.abort()
  else
    response.once('close', () => {
      if (!response.writableFinished) controller.abort()
    })
  return controller.signal
}

/** `client`: the address that the record may want to be filled in. */
export function askBody(endpoint: Endpoint, request: FastifyRequest, client: string): RequestBody | undefined {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body === undefined) return undefined
  if (body.kind === 'upload') {
    const type = request.headers['content-type'] === 'application/xml' ? 'application/xml' : 'application/octet-stream'
    return { kind: 'upload', type, bytes: request.body as Buffer }
  }
  const sent = request.body as Readonly<Record<string, unknown>>
  const fields: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(body.fields)) {
    const value = sent[name] ?? (field.fill === 'clientAddress' ? ipv4(client, name) : undefined)
    if (value !== undefined) fields[name] = canonicalField(field.canonical, value)
  }
  return { kind: 'fields', fields }
}

/** The manager registers IPv4 only; an address it would refuse is refused here, as the real API does (606). */
function ipv4(client: string, name: string): string {
  if (!IPV4.test(client)) throw badValue('ips', name)
  return client
}

function canonicalField(canonical: Parameters<typeof canonicalText>[0], value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((one) => canonicalField(canonical === 'agentIds' ? 'agentId' : canonical, one))
  return typeof value === 'string' ? canonicalText(canonical, value) : value
}
