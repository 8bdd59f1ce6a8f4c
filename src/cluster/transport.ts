/** HTTP to one node: connections, TLS, one attempt at a time. No redirects, no decompression, no interceptors. */
import { createSecureContext } from 'node:tls'
import { buildConnector, Pool } from 'undici'
import type { NodeCall } from '../pipeline/ports.ts'
import type { Addresses } from './addresses.ts'
import type { Deadline } from './deadline.ts'
import { Exchange, type Outcome } from './exchange.ts'
import type { NodeLimits, NodeTls } from './options.ts'
import type { RequestHead } from './request-head.ts'

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
 * Two pools. `kept` reuses connections. A node may close an idle connection at the very moment at which a request
 * is sent on it; then the answer is a reset, and whether the node acted on the request cannot be known. Repeating
 * a read is harmless; a write must neither be repeated nor fail for that (promises.md, R17). So writes, and repeats
 * of reads, go over `fresh`: a connection for each, which cannot have been idle. It costs a handshake, which is
 * little beside the 0.2 s that a node needs.
 */
interface Pools {
  readonly kept: Pool
  readonly fresh: Pool
}

export function createTransport(options: TransportOptions): Transport {
  let pools = openPools(options)
  const all = new Set([pools])
  const close = async (which: Pools) => {
    await Promise.all([which.kept, which.fresh].map((pool) => (pool.destroyed ? undefined : pool.close())))
    all.delete(which)
  }
  return {
    attempt: (call, deadline, fresh) => attempt(fresh ? pools.fresh : pools.kept, call, deadline, options),
    renew: (tls) => {
      const before = pools
      pools = openPools({ ...options, tls })
      all.add(pools)
      void close(before)
    },
    close: () => close(pools),
    destroy: async () => {
      await Promise.all([...all].flatMap(({ kept, fresh }) => [kept.destroy(), fresh.destroy()]))
    },
  }
}

function openPools({ url, tls, limits, addresses }: TransportOptions): Pools {
  const { servername, ...pem } = tls
  const connect = buildConnector({
    // Made once, not for each connection; PEM that cannot be read is refused here.
    ...(url.startsWith('https:') && { secureContext: createSecureContext({ ...pem, minVersion: 'TLSv1.2' }) }),
    ...(servername !== undefined && { servername }),
    // Said here, so that no environment variable can switch it off.
    rejectUnauthorized: true,
    timeout: limits.connect,
    lookup: addresses.lookup,
  })
  const common = {
    connect,
    connections: limits.inFlight,
    maxHeaderSize: HEADER_BYTES,
    keepAliveTimeout: KEEP_ALIVE,
    keepAliveMaxTimeout: KEEP_ALIVE,
    // The deadline of each call takes their place: these run up to a second late.
    headersTimeout: 0,
    bodyTimeout: 0,
  }
  return { kept: new Pool(url, { ...common, pipelining: 1 }), fresh: new Pool(url, { ...common, pipelining: 0 }) }
}

function attempt(pool: Pool, call: NodeCall, deadline: Deadline, options: TransportOptions): Promise<Outcome> {
  return new Promise((resolve) => {
    const exchange = new Exchange(call.node, { expect: call.expect, most: options.limits.response }, resolve)
    const giveUp = () => {
      const fault = deadline.fault()
      exchange.giveUp({ fault, detail: fault === 'timeout' ? 'no answer in time' : 'client left' })
    }
    if (deadline.signal.aborted) return giveUp()
    deadline.signal.addEventListener('abort', giveUp, { once: true })
    const { method, path, body } = call
    pool.dispatch({ method, path, headers: options.head(call), body: body?.bytes ?? null }, exchange)
  })
}
