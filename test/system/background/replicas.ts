/** Clusters of several replicas that share one real Redis and one simulated manager, with short intervals. */
import type { Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { Replicas } from '../../../src/status/replicas.ts'
import { type Cluster, createCluster } from '../../../src/upstream/index.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'

/** Milliseconds. Much longer than a pause of a busy machine, since replicas take over from one that is late. */
export const LIST_INTERVAL_MS = 2000
const REPORT_INTERVAL_MS = 50

export interface Replica {
  readonly cluster: Cluster
  /** As a process that is killed: it stops without leaving the registry. */
  kill(): Promise<void>
}

export interface Edge {
  readonly simulator: Simulator
  readonly redis: RedisServer
  start(): Promise<Replica>
  /** Returns how many lists of nodes the master was asked for. */
  lists(): number
}

const limits = { inFlight: 4, queue: 256, timeout: 20_000, response: 1 << 20 }

export async function edgeOf(t: Test): Promise<Edge> {
  const redis = await startRedis()
  const credentials = { username: 'edge', password: 'only-for-tests' }
  const simulator = await startSimulator({ workers: 1, agents: 1, ...credentials })
  t.teardown(() => Promise.all([simulator.close(), redis.close()]))
  const start = async (): Promise<Replica> => {
    const replica = new RedisReplica({ redis: { url: redis.url }, times: { commandTimeout: 5000 } })
    await replica.start()
    const replicas = new Replicas((report) => replica.exchangeDescriptions(report), REPORT_INTERVAL_MS)
    const cluster = createCluster({
      nodes: simulator.nodes,
      discover: true,
      credentials: { mode: 'service', ...credentials },
      limits: () => limits,
      discoverInterval: LIST_INTERVAL_MS,
      onListRead: () => replicas.publish(),
    })
    replicas.report({
      name: 'replica',
      version: '1.0.0',
      ready: () => true,
      draining: () => false,
      contact: cluster.contacts.report,
      local: () => undefined,
      nodes: () => [],
      nodeList: cluster.nodeList,
      settings: { report: () => ({}), offer: () => undefined },
    })
    replicas.publish()
    const kill = async () => {
      replicas.stop()
      await cluster.close()
    }
    t.teardown(async () => {
      await kill()
      await replica.close()
    })
    await cluster.start()
    return { cluster, kill }
  }
  const lists = () => simulator.seen.filter(({ url }) => url.startsWith('/cluster/nodes')).length
  return { simulator, redis, start, lists }
}
