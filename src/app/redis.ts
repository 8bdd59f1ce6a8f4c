/** The Redis that replicas share: this process as a replica, and the state of access in it. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type CountRequest, createRequestCounts } from '../access/request-counts.ts'
import type { Config } from '../config/schema.ts'
import { usesRedisTls } from '../config/section-rules.ts'
import type { Counters } from '../core/counters.ts'
import type { Log, RedisStepEvent } from '../core/events.ts'
import { systemClock } from '../core/timing.ts'
import type { OnStoreEvent, RedisConnectionOptions } from '../redis/options.ts'
import { RedisReplica } from '../redis/replica.ts'
import { SharedCounters } from '../redis/shared-counters.ts'
import { createSharedRevocations, type SharedRevocations } from '../redis/shared-revocations.ts'

/** Returns undefined if no Redis is configured. Rejects if the CA file cannot be read. */
export async function redisConnectionOptions(
  redis: Config['cache']['redis'],
): Promise<RedisConnectionOptions | undefined> {
  const { url, sentinels, name, cluster, username, password, tls } = redis
  if (url === undefined && sentinels.length === 0 && cluster.length === 0) return undefined
  const ca = tls.ca === undefined ? {} : { ca: await readFile(tls.ca, 'utf8') }
  return {
    ...(url !== undefined && { url }),
    ...(sentinels.length > 0 && { sentinels }),
    ...(name !== undefined && { name }),
    ...(cluster.length > 0 && { cluster }),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
    ...(usesRedisTls(redis) && { tls: ca }),
  }
}

interface ReplicaListeners {
  readonly onEvent: OnStoreEvent
  /** Called after each command. */
  readonly onStep: (step: RedisStepEvent) => void
}

/** Returns undefined if no Redis is configured. The replica connects when it is started. */
export async function buildReplica({ cache }: Config, listeners: ReplicaListeners): Promise<RedisReplica | undefined> {
  const redis = await redisConnectionOptions(cache.redis)
  if (redis === undefined) return undefined
  return new RedisReplica({ redis, times: { commandTimeout: cache.redis.timeout }, ...listeners })
}

/** The content of `cache.encryptionKeyFile`. Rejects if the file cannot be read. */
export async function readEncryptionKey({ cache }: Config): Promise<Buffer | undefined> {
  return cache.encryptionKeyFile === undefined ? undefined : readFile(cache.encryptionKeyFile)
}

/** What replicas share for access and for calls to nodes. */
export interface SharedAccess {
  readonly counters: Counters
  readonly count: CountRequest
  readonly revocations: SharedRevocations
}

export interface SharedAccessParts {
  readonly replica: RedisReplica
  readonly encryptionKey?: Buffer | undefined
  readonly log: Log
}

/** Must be called before the replica starts. */
export function createSharedAccess({ replica, encryptionKey, log }: SharedAccessParts): SharedAccess {
  const counters = new SharedCounters(replica, encryptionKey && hash('sha256', encryptionKey, 'buffer'))
  const revocations = createSharedRevocations({ replica, clock: systemClock, log })
  return { counters, count: createRequestCounts(counters), revocations }
}
