import { X509Certificate } from 'node:crypto'
import { Readable } from 'node:stream'
import { createSecureContext, type SecureContext } from 'node:tls'
import { buildConnector, Client, Pool } from 'undici'
import type { NodeCall } from '../core/node-call.ts'
import type { Deadline } from '../core/timing.ts'
import { Exchange, type Outcome } from './exchange.ts'
import type { Addresses } from './node-registry.ts'
import type { NodeCredentials, NodeLimits, NodeTls } from './options.ts'

/** HTTP to one node: connections, TLS, one attempt at a time. No redirects, no decompression, no interceptors. */

/**
 * Below the node's five seconds (contract/wire.md), so that it is the edge that closes first.
 * Some node may still be quicker; see `fresh`.
 */
const KEEP_ALIVE = 3_000
const HEADER_BYTES = 16 * 1024

export interface TransportOptions {
  readonly url: string
  readonly tls: NodeTls
  readonly limits: NodeLimits
  readonly addresses: Addresses
  readonly head: RequestHead
}

export interface Transport {
  attempt(call: NodeCall, deadline: Deadline, fresh: boolean): Promise<Outcome>
  /** Connections from now on use these; those with a call on them finish it. */
  renew(tls: NodeTls): void
  /** Lets calls finish. */
  close(): Promise<void>
  destroy(): Promise<void>
}

/**
 * Two ways. `kept` reuses connections. A node may close an idle connection at the very moment at which a request
 * is sent on it; then the answer is a reset, and whether the node acted on the request cannot be known. Repeating
 * a read is harmless; a write must neither be repeated nor fail for that. So writes, and repeats
 * of reads, go by `fresh`: a connection for each, which cannot have been idle. It costs a handshake, which is
 * little beside the 0.2 s that a node needs.
 */
interface Ways {
  readonly kept: Pool
  fresh(): Client
}

export function createTransport(options: TransportOptions): Transport {
  let ways = openWays(options)
  const open = new Set<Pool | Client>([ways.kept])
  const close = async ({ kept }: Ways) => {
    if (!kept.destroyed) await kept.close()
    open.delete(kept)
  }
  let destroyed = false
  const onFreshOne = async (call: NodeCall, deadline: Deadline): Promise<Outcome> => {
    if (destroyed) return { ok: false, failure: { fault: 'unreachable', detail: 'the edge is closing' }, sent: false }
    const client = ways.fresh()
    open.add(client)
    const over = () => {
      open.delete(client)
      void client.destroy()
    }
    const outcome = await attempt(client, call, deadline, options)
    if (outcome.ok && outcome.reply.body instanceof Readable) outcome.reply.body.once('close', over)
    else over()
    return outcome
  }
  return {
    attempt: (call, deadline, fresh) =>
      fresh ? onFreshOne(call, deadline) : attempt(ways.kept, call, deadline, options),
    renew: (tls) => {
      const before = ways
      ways = openWays({ ...options, tls })
      open.add(ways.kept)
      void close(before)
    },
    close: () => close(ways),
    destroy: async () => {
      destroyed = true
      await Promise.all([...open].map((one) => one.destroy()))
    },
  }
}

function openWays({ url, tls, limits, addresses }: TransportOptions): Ways {
  const { servername } = tls
  const connect = buildConnector({
    // Made once, not for each connection.
    ...(url.startsWith('https:') && { secureContext: secureContext(tls) }),
    ...(servername !== undefined && { servername }),
    // Said here, so that no environment variable can switch it off.
    rejectUnauthorized: true,
    timeout: limits.connect,
    lookup: addresses.lookup,
  })
  const common = {
    connect,
    maxHeaderSize: HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE,
    keepAliveMaxTimeout: KEEP_ALIVE,
    // The deadline of each call takes their place: these run up to a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  return {
    kept: new Pool(url, { ...common, connections: limits.inFlight, pipelining: 1 }),
    // 0: `Connection: close`.
    fresh: () => new Client(url, { ...common, pipelining: 0 }),
  }
}

/** Throws for PEM that cannot be read. */
function secureContext({ ca, cert, key }: NodeTls): SecureContext {
  // createSecureContext takes a text without any certificate for an empty list.
  if (ca !== undefined) new X509Certificate(ca)
  return createSecureContext({ ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }), minVersion: 'TLSv1.2' })
}

function attempt(to: Pool | Client, call: NodeCall, deadline: Deadline, options: TransportOptions): Promise<Outcome> {
  return new Promise((resolve) => {
    const exchange = new Exchange(call.node, { expect: call.expect, most: options.limits.response }, resolve)
    const giveUp = () => {
      const fault = deadline.fault()
      exchange.giveUp({ fault, detail: fault === 'timeout' ? 'no answer in time' : 'client left' })
    }
    if (deadline.signal.aborted) return giveUp()
    deadline.signal.addEventListener('abort', giveUp, { once: true })
    const { method, path, body } = call
    to.dispatch({ method, path, headers: options.head(call), body: body?.bytes ?? null }, exchange)
  })
}

/** The headers that a node sees: these and no others. Host and Connection are undici's. */

export type RequestHead = (call: NodeCall) => Readonly<Record<string, string>>

/** What nodes are told of a request that nobody traces (`traceparent`); `undefined`: nothing. */
export type UntracedTraceparent = (requestId: string) => string | undefined

/** Made once. A call that brings no credentials where it should goes without, and the node refuses it. */
export function requestHead(
  credentials: NodeCredentials,
  untracedTraceparent: UntracedTraceparent = () => undefined,
): RequestHead {
  const own = credentials.mode === 'service' ? basic(credentials) : undefined
  return (call) => {
    const authorization = own ?? (call.credentials && basic(call.credentials))
    const { trace, requestId } = call
    const traceparent = trace?.parent ?? untracedTraceparent(requestId)
    return {
      ...(authorization !== undefined && { authorization }),
      accept: call.expect === 'stream' ? 'text/xml, application/json' : 'application/json',
      'user-agent': 'manager-edge',
      'x-request-id': requestId,
      ...(traceparent !== undefined && { traceparent }),
      ...(trace?.state !== undefined && { tracestate: trace.state }),
      // The node keeps a cache of its own, by URL alone and never invalidated (contract/wire.md, Cache). It also
      // stores answers to five writes, which a GET of the same URL would then receive, so reads always go round it.
      ...(call.method === 'GET' && { 'x-apicache-bypass': '1' }),
      ...(call.body && { 'content-type': call.body.type, 'content-length': String(call.body.bytes.length) }),
    }
  }
}

function basic({ username, password }: { readonly username: string; readonly password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}
