/** Two replicas with a port for each contract, one Redis and one simulated cluster. */
import type { Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { merge, type RunningEdge, type Settings, startEdge } from '../../support/edge.ts'
import { startRedis } from '../../support/redis.ts'

const PASSWORD = 'only-for-tests'

export interface V4Body {
  readonly data: {
    // biome-ignore lint/suspicious/noExplicitAny: each operation has its own items.
    readonly affected_items: readonly any[]
    readonly total_affected_items: number
    readonly total_failed_items: number
    readonly failed_items: readonly { readonly error: object; readonly id: readonly string[] }[]
    readonly [more: string]: unknown
  }
  readonly message: string
  readonly error: number
  readonly title?: string
  readonly detail?: string
}

export interface Answer<Body> {
  readonly status: number
  readonly cache: string
  readonly type: string
  readonly text: string
  readonly body: Body
}

export interface Send {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly user?: string
}

export interface BothPorts {
  readonly simulator: Simulator
  readonly edges: readonly RunningEdge[]
  /** Sends a request of an edge user to the v3 port of a replica. */
  readonly v3: (at: number, path: string, options?: Send) => Promise<Answer<Record<string, unknown>>>
  /** Sends a request with a token of an edge user to the v4 port of a replica. */
  readonly v4: (at: number, path: string, options?: Send) => Promise<Answer<V4Body>>
}

export async function bothPorts(t: Test, settings: Settings = {}): Promise<BothPorts> {
  const simulator = await startSimulator({ layout: 'v4', workers: 1, agents: 6, password: PASSWORD })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const base = { listen: { secondPort: 0 }, cluster: { layout: 'v4' }, cache: { redis: { url: redis.url } } }
  const options = { nodes: simulator.nodes, password: PASSWORD, settings: merge(base, settings) }
  const edges = [await startEdge(options), await startEdge(options)]
  t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
  const tokens = new Map<string, Promise<string>>()
  const tokenOf = (at: number, user: string): Promise<string> => {
    const id = `${at} ${user}`
    const known = tokens.get(id) ?? logIn(edges[at], user)
    tokens.set(id, known)
    return known
  }
  return {
    simulator,
    edges,
    v3: async (at, path, { user = 'admin', ...options } = {}) =>
      send(`${edges[at]?.url}${path}`, edges[at]?.authorization(user) ?? '', options),
    v4: async (at, path, { user = 'admin', ...options } = {}) =>
      send(`${edges[at]?.secondUrl}${path}`, `Bearer ${await tokenOf(at, user)}`, options),
  }
}

async function logIn(edge: RunningEdge | undefined, user: string): Promise<string> {
  const response = await fetch(`${edge?.secondUrl}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization: edge?.authorization(user) ?? '' },
  })
  return response.text()
}

async function send<Body>(
  url: string,
  authorization: string,
  { method = 'GET', headers = {} }: Send,
): Promise<Answer<Body>> {
  const response = await fetch(url, { method, headers: { ...headers, authorization } })
  const text = await response.text()
  return {
    status: response.status,
    cache: response.headers.get('cache-status') ?? '',
    type: response.headers.get('content-type') ?? '',
    text,
    body: JSON.parse(text) as Body,
  }
}
