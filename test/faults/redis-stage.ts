/** Two replicas of the edge over one Redis, whatever its kind, and an upstream: what the faults are made to. */

import {
  type RedisCluster,
  type RedisSentinels,
  type RedisServer,
  startCluster,
  startRedis,
  startSentinels,
} from '../support/redis.ts'
import { type Replica, startReplica, startUpstream, type Upstream } from './coherence/processes.ts'
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

/** Calls at once that each replica may have under way at the upstream. */
export const IN_FLIGHT = 4
const FRESH_FOR = '60s'

interface StageOptions {
  /** Of a call, such as `3s`. */
  readonly timeout?: string
  /** Who the replicas are to Redis; absent: the default user. */
  readonly user?: RedisUser
  /** Of each step of Redis, such as `1s`; absent: the default. */
  readonly step?: string
}

/** A single server. */
export async function startStage(options: StageOptions = {}): Promise<SingleStage> {
  const redis = await startRedis()
  await options.user?.createOn(redis.client())
  return { redis, ...(await over({ url: redis.url }, redis, options)) }
}

/** A primary and a replica of it, watched by three sentinels. */
export async function startSentinelStage(options: StageOptions = {}): Promise<SentinelStage> {
  const group = await startSentinels()
  for (const server of [group.primary, group.replica]) await options.user?.createOn(server.client())
  return { group, ...(await over({ sentinels: group.sentinels, name: group.name }, group, options)) }
}

/** Three masters. */
export async function startClusterStage(options: StageOptions = {}): Promise<ClusterStage> {
  const cluster = await startCluster(3)
  for (const node of cluster.nodes) await options.user?.createOn(node.client())
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  return { cluster, ...(await over({ cluster: nodes }, cluster, options)) }
}

type Place = Readonly<Record<string, unknown>>

async function over(place: Place, redis: { close(): Promise<void> }, options: StageOptions): Promise<Stage> {
  const upstream = await startUpstream({ delay: 5, heedsBypass: true })
  const replica = {
    upstream: upstream.url,
    inFlight: IN_FLIGHT,
    cache: {
      durations: { agents: FRESH_FOR },
      redis: { ...place, ...options.user?.settings, ...(options.step !== undefined && { timeout: options.step }) },
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
