/** Two replicas of the edge over one Redis of any kind, and an upstream. */

import {
  type RedisCluster,
  type RedisSentinels,
  type RedisServer,
  startCluster,
  startRedis,
  startSentinels,
} from '../support/redis.ts'
import { BUILT, type Replica, startReplica, startUpstream, type Upstream } from './coherence/processes.ts'
import type { RedisUser } from './redis-user.ts'

export interface Stage {
  readonly upstream: Upstream
  readonly replicas: readonly Replica[]
  close(): Promise<void>
}

export interface SingleStage extends Stage {
  readonly redis: RedisServer
}

export interface SentinelStage extends Stage {
  readonly group: RedisSentinels
}

export interface ClusterStage extends Stage {
  readonly cluster: RedisCluster
}

/** Limit of concurrent calls of all replicas together to the upstream. */
export const MAX_CALLS = 4
const TTL = '60s'

interface StageOptions {
  /** Timeout of a call, such as `3s`. */
  readonly timeout?: string
  /** The Redis user of the replicas; the default user if absent. */
  readonly user?: RedisUser
  /** Timeout of a Redis command, such as `1s`; the default of the edge if absent. */
  readonly commandTimeout?: string
}

/** A single server. */
export async function startStage(options: StageOptions = {}): Promise<SingleStage> {
  const redis = await startRedis()
  await options.user?.createOn(redis.client())
  return { redis, ...(await startReplicas({ url: redis.url }, redis, options)) }
}

/** A primary and its replica, monitored by three sentinels. */
export async function startSentinelStage(options: StageOptions = {}): Promise<SentinelStage> {
  const group = await startSentinels()
  for (const server of [group.primary, group.replica]) await options.user?.createOn(server.client())
  return { group, ...(await startReplicas({ sentinels: group.sentinels, name: group.name }, group, options)) }
}

/** Three masters. */
export async function startClusterStage(options: StageOptions = {}): Promise<ClusterStage> {
  const cluster = await startCluster(3)
  for (const node of cluster.nodes) await options.user?.createOn(node.client())
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  return { cluster, ...(await startReplicas({ cluster: nodes }, cluster, options)) }
}

type Place = Readonly<Record<string, unknown>>

async function startReplicas(place: Place, redis: { close(): Promise<void> }, options: StageOptions): Promise<Stage> {
  const upstream = await startUpstream({ delay: 5, heedsBypass: true })
  const replica = {
    build: BUILT,
    upstream: upstream.url,
    inFlight: MAX_CALLS,
    cache: {
      ttl: { agents: TTL },
      // It compares some hits with a response of the upstream, and these tests count the calls.
      divergenceCheck: { sampleRatio: 0 },
      redis: {
        ...place,
        ...options.user?.settings,
        ...(options.commandTimeout !== undefined && { timeout: options.commandTimeout }),
      },
    },
    ...(options.timeout !== undefined && { timeout: options.timeout }),
  }
  const replicas = await Promise.all([startReplica(replica), startReplica(replica)])
  return {
    upstream,
    replicas,
    close: async () => void (await Promise.all([...replicas, redis, upstream].map((each) => each.close()))),
  }
}
