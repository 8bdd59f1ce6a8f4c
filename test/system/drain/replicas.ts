/** Two replicas with one Redis in front of a simulated cluster, and the requests that drain its nodes. */
import type { Test } from 'tap'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, type Settings, startEdge } from '../../support/edge.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'

export interface DrainableReplicas {
  readonly simulator: Simulator
  readonly redis: RedisServer
  readonly here: RunningEdge
  readonly there: RunningEdge
  /** Starts a further replica. */
  start(): Promise<RunningEdge>
}

const PASSWORD = 'only-for-tests'

/** Without responses from the cache, so that each read needs a node. */
const uncached: Settings = { cache: { enabled: false } }

export async function startReplicas(
  t: Test,
  world: SimulatorOptions = {},
  cluster: Settings = {},
): Promise<DrainableReplicas> {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const simulator = await startSimulator({ workers: 2, agents: 6, password: PASSWORD, ...world })
  t.teardown(() => simulator.close())
  const start = async () => {
    const settings = { cluster, cache: { ...(uncached.cache as Settings), redis: { url: redis.url } } }
    const edge = await startEdge({ nodes: simulator.nodes, password: PASSWORD, settings })
    t.teardown(() => edge.close())
    return edge
  }
  return { simulator, redis, here: await start(), there: await start(), start }
}

export interface Answer {
  readonly status: number
  readonly body: {
    readonly error?: number
    readonly message?: string
    readonly data?: { readonly failed_nodes?: readonly unknown[] }
  }
}

async function send(url: string, edge: RunningEdge, init: { method?: string; user?: string } = {}): Promise<Answer> {
  const { method = 'GET', user = 'admin' } = init
  const headers = { authorization: edge.authorization(user), 'x-edge-console': '1' }
  const response = await fetch(url, { method, headers })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

export const read = (edge: RunningEdge, path: string) => send(edge.url + path, edge)

export const drain = (edge: RunningEdge, node: string, user = 'admin') =>
  send(`${edge.operationsUrl}/api/nodes/${node}/drain`, edge, { method: 'PUT', user })

export const putBack = (edge: RunningEdge, node: string, user = 'admin') =>
  send(`${edge.operationsUrl}/api/nodes/${node}/drain`, edge, { method: 'DELETE', user })

interface NodesBody {
  readonly nodes: readonly { readonly name: string; readonly state: string }[]
}

/** Returns the state of a node as this replica shows it. */
export async function stateOf(edge: RunningEdge, node: string): Promise<string | undefined> {
  const { body } = await send(`${edge.operationsUrl}/api/nodes`, edge)
  return (body as unknown as NodesBody).nodes.find(({ name }) => name === node)?.state
}

/** The audit records in the log of a replica about drains. */
export function drainRecords({ logged }: RunningEdge): readonly Record<string, unknown>[] {
  const lines = logged.map((line) => JSON.parse(line) as { msg?: string; line?: string })
  const records = lines.flatMap(({ msg, line }) => (msg === 'audit' && line ? [JSON.parse(line)] : []))
  return (records as Record<string, unknown>[]).filter(({ route }) => route === '/api/nodes/:node/drain')
}
