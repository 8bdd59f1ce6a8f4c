/** One replay with its own cluster, Redis and two replicas, so that no run begins with the responses of another. */

import type { SimulatorOptions } from '../../../packages/simulator/src/index.ts'
import { cacheGroups } from '../../../src/config/schema.ts'
import { createRandom } from '../../faults/coherence/random.ts'
import { startRedis } from '../../support/redis.ts'
import { basic, nodePassword, type RunningCluster, startCluster, startReplicas } from '../clients/parties.ts'
import { isPageOfNode } from './oracle.ts'
import type { PlannedRequest } from './plan.ts'
import { type Replayed, replay } from './replay.ts'

export interface RunOptions {
  readonly snapshots: boolean
  readonly plans: readonly (readonly PlannedRequest[])[]
  readonly rampSeconds: number
  readonly cluster: SimulatorOptions
  readonly seed: number
  /** Computed responses that are compared with those of the node. */
  readonly samples: number
}

export interface SessionRun extends Replayed {
  readonly snapshots: boolean
  /** Calls to the nodes by path, those in the background too. */
  readonly calls: ReadonlyMap<string, number>
  /** Computed responses that were compared with the node, and those that differed. */
  readonly compared: number
  readonly differing: readonly string[]
}

export async function runSession(options: RunOptions): Promise<SessionRun> {
  const cluster = await startCluster(options.cluster)
  const redis = await startRedis()
  const groups = options.snapshots ? cacheGroups : []
  const replicas = await startReplicas(2, { nodes: cluster.nodes, redis: redis.url, cache: { snapshots: { groups } } })
  try {
    const { plans, rampSeconds, snapshots } = options
    const replayed = await replay({ urls: replicas.urls, authorization: basic('browser'), plans, rampSeconds })
    const calls = await cluster.calls()
    return { ...replayed, snapshots, calls, ...(await compareWithNode(options, replayed, cluster)) }
  } finally {
    await replicas.close()
    await redis.close()
    cluster.close()
  }
}

/** After the replay: the calls of this comparison do not count. */
async function compareWithNode(
  { seed, samples }: RunOptions,
  { derived }: Replayed,
  { nodes }: RunningCluster,
): Promise<Pick<SessionRun, 'compared' | 'differing'>> {
  const random = createRandom(seed)
  const left = [...derived]
  const sampled: (typeof left)[number][] = []
  while (sampled.length < samples && left.length > 0) sampled.push(...left.splice(random.below(left.length), 1))
  const master = nodes.find(({ type }) => type === 'master')?.url ?? ''
  const differing: string[] = []
  for (const [target, body] of sampled) {
    const response = await fetch(master + target, { headers: { authorization: basic('edge', nodePassword) } })
    if (!isPageOfNode(target, body, await response.text())) differing.push(target)
  }
  return { compared: sampled.length, differing }
}
