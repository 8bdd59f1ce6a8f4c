/** HTTP to one node: connections, TLS and request headers. No redirects, no decompression, no interceptors. */
import { X509Certificate } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { LookupFunction } from 'node:net'
import { Readable } from 'node:stream'
import { createSecureContext, type SecureContext } from 'node:tls'
import { buildConnector, Client, type Dispatcher, Pool } from 'undici'
import type { NodeCall, NodeResult } from '../core/node-call.ts'
import { startDeadline, systemClock } from '../core/timing.ts'
import { ExchangeError, notSent, type Send, type UpstreamCall } from './call.ts'
import { connectInTurns, MAX_HEADER_BYTES } from './connector.ts'
import {
  BodyCollector,
  type CallFailure,
  failureOf,
  parseResponseHead,
  type ResponseExpectation,
  type ResponseHead,
  tooLarge,
} from './node-response.ts'
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

export interface Transport {
  readonly send: Send
  /** Uses these options for new connections and calls. Connections with a call in flight finish it. */
  reconfigure(changes: TransportChanges): void
  /** Closes the connections after their calls have finished. */
  close(): Promise<void>
  destroy(): Promise<void>
}

/**
 * Two kinds of connections. Connections of the pool are reused. A node may close an idle connection at the moment in
 * which a request is sent on it; the response is then a reset, and whether the node acted on the request is unknown.
 * A read can be sent again. A write can neither be sent again nor should it fail for that. So writes, and retries of
 * reads, use a new connection, which has never been idle. The handshake is short compared with the 0.2 s of a call.
 */
interface Connections {
  readonly pool: Pool
  open(): Client
}

export function createTransport(initial: TransportOptions): Transport {
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
    const client = connections.open()
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
  return {
    send: (call) => (call.connection === 'new' ? sendOnNew(call) : sendOnce(connections.pool, call, options)),
    reconfigure: (changes) => {
      const previous = connections
      options = { ...options, ...changes }
      connections = createConnections(options)
      open.add(connections.pool)
      void closePool(previous)
    },
    close: () => closePool(connections),
    destroy: async () => {
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
    // With pipelining 0, undici sends `Connection: close`.
    open: () => new Client(url, { ...common, pipelining: 0 }),
  }
}

/** Throws for PEM that cannot be parsed. */
export function createContext({ ca, cert, key }: NodeTls): SecureContext {
  // createSecureContext accepts a text without any certificate as an empty list.
  if (ca !== undefined) new X509Certificate(ca)
  return createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }), minVersion: 'TLSv1.2' })
}

async function sendOnce(
  dispatcher: Pool | Client,
  call: UpstreamCall,
  { limits, headers }: TransportOptions,
): Promise<NodeResult> {
  const deadline = call.deadline ?? startDeadline(call.timeout, call.signal, systemClock.elapsed)
  const result = await new Promise<NodeResult>((resolve) => {
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
  if (call.deadline === undefined) deadline.end()
  return result
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
    return {
      ...(authorization !== undefined && { authorization }),
      accept: v4 === undefined ? ACCEPT[call.expect] : `${ACCEPT[call.expect]}, application/problem+json`,
      'accept-encoding': 'identity',
      'user-agent': 'manager-edge',
      'x-request-id': requestId,
      ...(traceparent !== undefined && { traceparent }),
      ...(trace?.state !== undefined && { tracestate: trace.state }),
      // The node itself caches responses, keyed by URL alone and never invalidated. It also stores the responses of five
      // writes, which a GET of the same URL would then receive. So reads always bypass it. The v4 layout has no such cache.
      ...(call.method === 'GET' && v4 === undefined && { 'x-apicache-bypass': '1' }),
      ...(call.body && { 'content-type': call.body.type, 'content-length': String(call.body.bytes.length) }),
    }
  }
}

/** The v3 layout sends files as XML. */
const ACCEPT: Readonly<Record<NodeCall['expect'], string>> = {
  bytes: 'application/json',
  stream: 'text/xml, application/json',
  text: 'text/plain, application/xml, text/xml, application/json',
}

type Controller = Dispatcher.DispatchController

/** Bytes of a raw file that are buffered for a slow client, so that small files release the node immediately. */
const STREAM_BUFFER_BYTES = 256 * 1024

/**
 * One request and its response on one connection, as a handler of undici's `dispatch`. Settles once.
 *
 * Uses `dispatch`, undici's lowest interface, because only its handlers show whether anything was sent:
 * `onRequestStart` runs before the first byte. `Pool.request` does not report it, and cannot be aborted while connecting.
 */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #node: string
  readonly #expectation: ResponseExpectation
  #settle: (result: NodeResult) => void
  #controller: Controller | undefined
  #head: ResponseHead | undefined
  #body: BodyCollector | undefined
  #stream: Readable | undefined
  #receivedBytes = 0
  #isSettled = false
  /** The call has ended, and the node may still work on it. */
  #isLate = false

  constructor(node: string, expectation: ResponseExpectation, settle: (result: NodeResult) => void) {
    this.#node = node
    this.#expectation = expectation
    this.#settle = settle
  }

  /** Aborts the exchange because the deadline has passed or the client disconnected. */
  abort(failure: CallFailure): void {
    this.#fail(failure)
  }

  /** Settles as `abort` does. What was sent goes on: a node works on a call whose connection is closed. */
  leave(failure: CallFailure): void {
    if (this.#isSettled || this.#controller === undefined) {
      this.abort(failure)
      return
    }
    const settle = this.#settle
    const result = new Promise<NodeResult>((resolve) => {
      this.#settle = resolve
    })
    this.#isLate = true
    const late = { result, end: () => this.abort(failure) }
    settle({ ...failure, ok: false, node: this.#node, sent: true, late })
  }

  onRequestStart(controller: Controller): void {
    // After an abort while connecting, stop before the first byte. undici starts a second time to send the request
    // again; the caller of this attempt decides about retries.
    if (this.#isSettled || this.#controller !== undefined) {
      controller.abort(new Error('exchange ended before the request was sent'))
      return
    }
    this.#controller = controller
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (this.#isSettled) return
    const head = parseResponseHead(status, headers, this.#expectation)
    if ('fault' in head) {
      this.#fail(head)
      return
    }
    this.#head = head
    if (head.isStreamed && this.#isLate) this.abort({ fault: 'cancelled', reason: 'clientDisconnected' })
    else if (head.isStreamed) this.#succeed(head, this.#createStream(controller))
    else this.#body = new BodyCollector(head.length)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    if (this.#isSettled && this.#stream === undefined) return
    const { maxBytes } = this.#expectation
    this.#receivedBytes += chunk.length
    if (this.#receivedBytes > maxBytes) this.#fail(tooLarge(maxBytes))
    else if (this.#body !== undefined) this.#body.append(chunk)
    else if (this.#stream?.push(chunk) === false) controller.pause()
  }

  onResponseEnd(): void {
    this.#stream?.push(null)
    const head = this.#head
    if (head === undefined || this.#body === undefined) return
    const body = this.#body.bytes()
    if (body instanceof Promise) void body.then((whole) => this.#succeed(head, whole))
    else this.#succeed(head, body)
  }

  onResponseError(_: Controller | undefined, error: Error): void {
    this.#fail(failureOf(error, { sent: this.#controller !== undefined, answered: this.#head !== undefined }))
  }

  #createStream(controller: Controller): Readable {
    const stream = new Readable({
      highWaterMark: STREAM_BUFFER_BYTES,
      read: () => controller.resume(),
      destroy: (error, done) => {
        // Has no effect if the response is already complete.
        controller.abort(error ?? new Error('client disconnected'))
        done(error)
      },
    })
    // Readers observe errors by `close`. Without this listener an early error would end the process.
    stream.on('error', () => undefined)
    this.#stream = stream
    return stream
  }

  #succeed({ status, type, length, personal, age }: ResponseHead, body: Buffer | Readable): void {
    if (this.#isSettled) return
    this.#isSettled = true
    const optional = { ...(length !== undefined && { length }), ...(personal && { personal }), ...(age > 0 && { age }) }
    this.#settle({ ok: true, response: { node: this.#node, status, type, ...optional, body } })
  }

  #fail(failure: CallFailure): void {
    const error = new ExchangeError(failure)
    this.#stream?.destroy(error)
    if (this.#isSettled) return
    this.#isSettled = true
    this.#settle({ ...failure, ok: false, node: this.#node, sent: this.#controller !== undefined })
    this.#controller?.abort(error)
  }
}
