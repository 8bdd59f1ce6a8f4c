/**
 * Warms up a new process before it listens. Code that has never run is compiled and optimised at its first requests, so
 * the first thousand clients after a start would wait for it. A private API on loopback, with the same stages and a
 * memory cache, serves some requests in front of a node that this process simulates. The real nodes, the real cache,
 * metrics, audit and log see nothing of it.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { Pool } from 'undici'
import { createAudit } from '../audit/index.ts'
import { catalogue } from '../catalogue/index.ts'
import { createReloadableConfig, type ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { createEdgeEvents } from '../telemetry/events.ts'
import { buildAccess } from './access.ts'
import { buildApi } from './api.ts'
import { buildCluster } from './cluster.ts'

/** Enough for V8 to optimise the functions of a hit. More requests save less than they cost. */
const HITS = 200
const MISSES = 50
const CONNECTIONS = 20
/** A slow machine must not start much later for it. */
const MAX_DURATION_MS = 2000

const NODE_BODY = JSON.stringify({ error: 0, data: { items: [{ id: '000' }], totalItems: 1 } })
const PATHS: ReadonlySet<string> = new Set(['/agents', '/agents/:agent_id'])
const CREDENTIALS = `Basic ${Buffer.from('warm-up:warm-up').toString('base64')}`

/** What the warm-up did; `hits` as the responses report them. */
export interface WarmUp {
  readonly responses: number
  readonly hits: number
}

/** Stops sending requests after `maxDurationMs`. Rejects if the loopback interface cannot be used. */
export async function warmUp(config: Config, maxDurationMs = MAX_DURATION_MS): Promise<WarmUp> {
  const node = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(NODE_BODY)
  })
  try {
    const settings = privateSettings(config, await listenOnLoopback(node))
    const { url, close } = await startPrivateApi(settings)
    try {
      return await sendRequests(url, performance.now() + maxDurationMs)
    } finally {
      await close()
    }
  } finally {
    node.closeAllConnections()
    node.close()
  }
}

async function listenOnLoopback(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The limits and cache settings of the edge, without its files, nodes and Redis. The node accepts every password. */
function privateSettings(config: Config, node: string): ReloadableConfig {
  const { listen, cluster, cache, access } = config
  const { tls: _listenerTls, ...plain } = listen
  const { roles: _roles, users: _users, ...open } = access
  return createReloadableConfig({
    ...config,
    listen: { ...plain, hosts: [], trustedProxies: [] },
    cluster: {
      ...cluster,
      discover: false,
      nodes: [{ name: 'warm-up', type: 'master', url: node }],
      credentials: { mode: 'passthrough' },
      tls: { required: false },
      addresses: [],
    },
    cache: {
      ...cache,
      enabled: true,
      redis: { sentinels: [], cluster: [], tls: { required: false }, timeout: cache.redis.timeout },
      ttl: { ...cache.ttl, agents: 60_000 },
    },
    access: {
      ...open,
      roles: {},
      tokens: { lifetime: access.tokens.lifetime, issuers: [] },
      limits: { ...access.limits, requestsPerSecond: 1_000_000 },
    },
  })
}

async function startPrivateApi(settings: ReloadableConfig): Promise<{ url: string; close(): Promise<void> }> {
  const log = pino({ level: 'silent' })
  const { emit } = createEdgeEvents()
  const ignore = async () => undefined
  const sink = { open: ignore, append: ignore, reopen: ignore, close: ignore }
  const cluster = await buildCluster(settings, log)
  const access = await buildAccess(settings, { cluster, shared: undefined, log })
  const api = await buildApi(settings, {
    endpoints: catalogue.filter(({ method, path }) => method === 'GET' && PATHS.has(path)),
    access,
    cluster,
    shared: undefined,
    log,
    writeLine: () => undefined,
    replica: undefined,
    encryptionKey: undefined,
    onStoreEvent: () => undefined,
    emit,
    audit: createAudit({ sink, onFailure: 'log', log }),
    traces: undefined,
  })
  return {
    url: await api.app.listen({ host: '127.0.0.1', port: 0 }),
    close: async () => {
      await Promise.all([api.app.close(), access.close(), cluster.close()])
      await api.closeCache()
    },
  }
}

/** Logins, misses, hits with and without a compressed body, and 304s. */
async function sendRequests(url: string, until: number): Promise<WarmUp> {
  const pool = new Pool(url, { connections: CONNECTIONS })
  let responses = 0
  let hits = 0
  const get = async (path: string, more: Record<string, string> = {}): Promise<void> => {
    if (performance.now() > until) return
    const headers = { authorization: CREDENTIALS, ...more }
    const response = await pool.request({ path, method: 'GET', headers })
    await response.body.dump()
    responses += 1
    if (String(response.headers['cache-status']).includes('; hit')) hits += 1
  }
  const getAll = (paths: readonly string[], more?: Record<string, string>) =>
    Promise.all(paths.map((path) => get(path, more)))
  try {
    const agents = Array.from({ length: MISSES }, (_, id) => `/agents/${String(id).padStart(3, '0')}`)
    await get('/agents')
    await getAll(agents)
    for (const more of [{}, { 'accept-encoding': 'gzip' }, { 'if-none-match': '*' }]) {
      await getAll(
        Array.from({ length: HITS / 4 }, () => '/agents'),
        more,
      )
    }
    await getAll(Array.from({ length: HITS / 4 }, (_, each) => agents[each % MISSES] ?? '/agents'))
    return { responses, hits }
  } finally {
    await pool.destroy()
  }
}
