/** HTTP to one node: connections, TLS and request headers. No redirects, no decompression, no interceptors. */
import { X509Certificate } from 'node:crypto'
import type { LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { createSecureContext, type SecureContext } from 'node:tls'
import { buildConnector, Client, Pool } from 'undici'
import type { NodeCall, NodeResult } from '../core/node-call.ts'
import { startDeadline, systemClock } from '../core/timing.ts'
import { notSent, type Send, type UpstreamCall } from './call.ts'
import { connectInTurns, MAX_HEADER_BYTES } from './connector.ts'
import { Exchange } from './exchange.ts'
import type { NodeCredentials, NodeLimits, NodeTls, UntracedTraceparent } from './options.ts'
import { basicAuthorization } from './tokens/login.ts'

/** Below the five seconds of a node, so that normally the edge closes idle connections first. */
const KEEP_ALIVE_TIMEOUT_MS = 3_000

interface TransportOptions {
  readonly url: string
  readonly tls: NodeTls
  readonly limits: () => Pick<NodeLimits, 'inFlight' | 'response'>
  /** Milliseconds. */
  readonly connectTimeout: number
  readonly lookup: LookupFunction
  readonly headers: RequestHeaders
}

/** The options that may change. The pool also reads `inFlight` again. */
export type TransportChanges = Pick<TransportOptions, 'tls' | 'lookup' | 'headers'>

export type Transport = ReturnType<typeof createTransport>

/**
 * Two kinds of connections. Connections of the pool are reused. A node may close an idle connection at the moment in
 * which a request is sent on it; the response is then a reset, and whether the node acted on the request is unknown.
 * A read can be sent again. A write can neither be sent again nor should it fail for that. So writes, and retries of
 * reads, use a new connection, which has never been idle. The handshake is short compared with the 0.2 s of a call.
 */
interface Connections {
  readonly pool: Pool
  readonly url: string
  /** Of a new connection. */
  readonly once: Client.Options
}

export function createTransport(initial: TransportOptions) {
  let options = initial
  let connections = createConnections(options)
  const open = new Set<Pool | Client>([connections.pool])
  let isDestroyed = false
  const closePool = async ({ pool }: Connections) => {
    if (!pool.destroyed) await pool.close()
    open.delete(pool)
  }
  const sendOnNew: Send = async (call) => {
    if (isDestroyed) return notSent(call, { fault: 'unreachable', reason: 'closing' })
    const client = new Client(connections.url, connections.once)
    open.add(client)
    const closeClient = () => {
      open.delete(client)
      void client.destroy()
    }
    const result = await sendOnce(client, call, options)
    if (result.ok && result.response.body instanceof Readable) result.response.body.once('close', closeClient)
    else if (!result.ok && result.late) void result.late.result.then(closeClient)
    else closeClient()
    return result
  }
  const send: Send = (call) => (call.connection === 'new' ? sendOnNew(call) : sendOnce(connections.pool, call, options))
  return {
    send,
    /** Uses these options for new connections and calls. Connections with a call in flight finish it. */
    reconfigure: (changes: TransportChanges): void => {
      const previous = connections
      options = { ...options, ...changes }
      connections = createConnections(options)
      open.add(connections.pool)
      void closePool(previous)
    },
    /** Closes the connections after their calls have finished. */
    close: () => closePool(connections),
    destroy: async (): Promise<void> => {
      isDestroyed = true
      await Promise.all([...open].map((each) => each.destroy()))
    },
  }
}

function createConnections({ url, tls, limits, connectTimeout, lookup }: TransportOptions): Connections {
  const { servername } = tls
  const connector = buildConnector({
    // Created once instead of for each connection.
    ...(url.startsWith('https:') && { secureContext: createContext(tls) }),
    ...(servername !== undefined && { servername }),
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable the verification.
    rejectUnauthorized: true,
    timeout: connectTimeout,
    lookup,
  })
  const common = {
    connect: connectInTurns(connector),
    maxHeaderSize: MAX_HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // The deadline of each call replaces these timers, which fire up to a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  return {
    pool: new Pool(url, { ...common, connections: limits().inFlight, pipelining: 1 }),
    url,
    // With pipelining 0, undici sends `Connection: close`.
    once: { ...common, pipelining: 0 },
  }
}

/** Throws for PEM that cannot be parsed. */
export function createContext({ ca, cert, key }: NodeTls): SecureContext {
  // createSecureContext accepts a text without any certificate as an empty list.
  if (ca !== undefined) new X509Certificate(ca)
  return createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }), minVersion: 'TLSv1.2' })
}

function sendOnce(
  dispatcher: Pool | Client,
  call: UpstreamCall,
  { limits, headers }: TransportOptions,
): Promise<NodeResult> {
  const deadline = call.deadline ?? startDeadline(call.timeout, call.signal, systemClock.elapsed)
  const sending = new Promise<NodeResult>((resolve) => {
    const maxBytes = call.authorization?.maxBytes ?? limits().response
    const exchange = new Exchange(call.node, { expect: call.expect, maxBytes }, resolve)
    const onAbort = () => {
      const fault = deadline.fault()
      const failure = { fault, reason: fault === 'timeout' ? 'timedOut' : 'clientDisconnected' } as const
      if (call.hasSlot) exchange.leave(failure)
      else exchange.abort(failure)
    }
    if (deadline.signal.aborted) return onAbort()
    deadline.signal.addEventListener('abort', onAbort, { once: true })
    const { method, path, body } = call
    dispatcher.dispatch({ method, path, headers: headers(call), body: body?.bytes ?? null }, exchange)
  })
  return call.deadline === undefined ? sending.finally(deadline.end) : sending
}

/** Returns the headers of a call. Nodes receive no others, except Host and Connection, which undici adds. */
type RequestHeaders = (call: UpstreamCall) => Readonly<Record<string, string>>

/** With `passthrough`, a call without credentials is sent without Authorization, and the node refuses it. */
export function createRequestHeaders(
  credentials: NodeCredentials,
  untracedTraceparent?: UntracedTraceparent,
): RequestHeaders {
  const service = credentials.mode === 'service' ? basicAuthorization(credentials) : undefined
  return (call) => {
    const { trace, requestId, authorization: v4 } = call
    const authorization =
      v4 === undefined ? (service ?? (call.credentials && basicAuthorization(call.credentials))) : v4.header()
    const traceparent = trace?.parent ?? untracedTraceparent?.(requestId)
    const headers: Record<string, string> = {
      accept: v4 === undefined ? ACCEPT[call.expect] : `${ACCEPT[call.expect]}, application/problem+json`,
      'accept-encoding': 'identity',
      'user-agent': 'manager-edge',
      'x-request-id': requestId,
    }
    if (authorization !== undefined) headers.authorization = authorization
    if (traceparent !== undefined) headers.traceparent = traceparent
    if (trace?.state !== undefined) headers.tracestate = trace.state
    // The node itself caches responses, keyed by URL alone and never invalidated. It also stores the responses of five
    // writes, which a GET of the same URL would then receive. So reads always bypass it. The v4 layout has no such cache.
    if (call.method === 'GET' && v4 === undefined) headers['x-apicache-bypass'] = '1'
    if (call.body === undefined) return headers
    return { ...headers, 'content-type': call.body.type, 'content-length': String(call.body.bytes.length) }
  }
}

/** The v3 layout sends files as XML. */
const ACCEPT: Readonly<Record<NodeCall['expect'], string>> = {
  bytes: 'application/json',
  stream: 'text/xml, application/json',
  text: 'text/plain, application/xml, text/xml, application/json',
}
