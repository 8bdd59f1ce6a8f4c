/** The kinds of clients of `npm run bench:relief`, and what each of them received. */
import { setMaxListeners } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { CACHE_STATUS, Connections, headerOf, type Received } from '../clients/connections.ts'
import { type DashboardGet, sessions, thinkTime } from '../clients/session.ts'
import { faultOf } from '../clients/taken.ts'

/**
 * `dashboard`: a page after the other, with a second of thought; these are the interactive clients. Their order is random:
 * clients that waited for the same answer would request the same pages together from then on. `bulk`: pages through
 * everything without a pause. `impatient`: ten requests at once, and leaves after a second.
 */
export type Kind = 'dashboard' | 'bulk' | 'impatient'

export interface Party {
  readonly kind: Kind
  readonly clients: number
  /** Default: that of the dashboards. */
  readonly user?: string
  /** Seconds after the begin of the measured time; default: the whole run. */
  readonly from?: number
  readonly until?: number
}

export interface Answer {
  readonly kind: Kind
  /** Path and query. */
  readonly target: string
  /** The number of the replica, or of the node. */
  readonly place: number
  /** When the request was sent and the milliseconds until its answer was complete. */
  readonly sentAt: number
  readonly ms: number
  /** What is wrong with the answer; empty: nothing. */
  readonly fault: string
  /** The value of `Cache-Status`. */
  readonly cacheStatus: string
}

export interface Place {
  readonly urls: readonly string[]
  readonly throughEdge: boolean
  /** The header `Authorization` of a user. */
  readonly authorizationOf: (user: string) => string
}

/** Milliseconds that dashboards and bulk clients wait for an answer. */
const PATIENCE_MS = 60_000
const IMPATIENCE_MS = 1000
const CONCURRENT_READS = 10
const AGENTS = 100
const BULK_LIMIT = 20
const INVENTORY = ['os', 'hardware', 'packages', 'ports', 'processes', 'netaddr', 'netiface', 'netproto']

/** Returns what each bulk client reads in turn: all pages of agents, rules and decoders, then the inventory of each agent. */
function bulkTargets(): readonly string[] {
  const pages = (path: string, rows: number) =>
    Array.from(
      { length: Math.ceil(rows / BULK_LIMIT) },
      (_, at) => `${path}?limit=${BULK_LIMIT}&offset=${at * BULK_LIMIT}`,
    )
  const ids = Array.from({ length: AGENTS }, (_, at) => String(at + 1).padStart(3, '0'))
  const inventory = ids.flatMap((id) => INVENTORY.map((part) => `/syscollector/${id}/${part}?limit=${BULK_LIMIT}`))
  return [...pages('/agents', AGENTS), ...pages('/rules', 700), ...pages('/decoders', 130), ...inventory]
}

const BULK = bulkTargets()
export const DASHBOARD = sessions.v3.gets.map(({ target }: DashboardGet) => target)

/** Starts the clients of a party. The returned function ends them and resolves when their last answers have arrived. */
export function startParty(party: Party, place: Place, onAnswer: (answer: Answer) => void): () => Promise<void> {
  const { kind, clients, user = 'browser' } = party
  const { urls, throughEdge } = place
  const expected = { success: sessions.v3.success, throughEdge }
  const authorization = place.authorizationOf(user)
  const headers = 'Host: manager\r\nwazuh-app-version: 3.11.5\r\n'
  // The clients of the manager open a connection for each request, as its user interface does.
  const pools = urls.map((url) => {
    const timeoutMs = kind === 'impatient' ? IMPATIENCE_MS : PATIENCE_MS
    const ended = throughEdge ? headers : `${headers}Connection: close\r\n`
    return new Connections({ url, headers: ended, keepAlive: throughEdge, timeoutMs })
  })
  let isStopped = false
  const ask = (at: number, target: string): Promise<void> => {
    return new Promise<void>((resolve) => {
      const sentAt = performance.now()
      const number = at % pools.length
      pools[number]?.send({ method: 'GET', target, authorization }, (received: Received) => {
        const fault = faultOf(received, expected)
        const cacheStatus = headerOf(received.head, CACHE_STATUS) ?? ''
        onAnswer({ kind, target, place: number, sentAt, ms: performance.now() - sentAt, fault, cacheStatus })
        resolve()
      })
    })
  }
  const run = async (client: number): Promise<void> => {
    let position = client * 7
    while (!isStopped) {
      const targets = kind === 'dashboard' ? DASHBOARD : BULK
      if (kind === 'dashboard') position = Math.floor(Math.random() * DASHBOARD.length)
      const atOnce = kind === 'impatient' ? CONCURRENT_READS : 1
      const next = Array.from({ length: atOnce }, (_, at) => targets[(position + at) % targets.length] ?? '/')
      position += atOnce
      await Promise.all(next.map((target) => ask(client, target)))
      if (kind === 'dashboard') await pause(thinkTime())
    }
  }
  const end = new AbortController()
  setMaxListeners(0, end.signal)
  const pause = (ms: number) => wait(ms, undefined, { signal: end.signal }).catch(() => undefined)
  const all = Array.from({ length: clients }, async (_, client) => {
    await pause((1000 * client) / clients)
    await run(client)
  })
  return async () => {
    isStopped = true
    end.abort()
    for (const pool of pools) pool.close()
    await Promise.all(all)
  }
}
