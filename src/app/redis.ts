/** The Redis that replicas share: this process as a replica, and the state of access in it. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { usesRedisTls } from '../config/cache-rules.ts'
import type { Config } from '../config/schema.ts'
import type { RedisStepEvent } from '../core/events.ts'
import type { OnStoreEvent, RedisConnectionOptions } from '../redis/options.ts'
import { RedisReplica } from '../redis/replica.ts'
import { createSharedAccess, type SharedAccess } from '../redis/shared-access.ts'

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

interface SharedAccessParts {
  readonly replica: RedisReplica | undefined
  readonly encryptionKey: Buffer | undefined
  readonly log: Logger
}

/** Returns undefined if no Redis is configured. */
export function buildSharedAccess({ replica, encryptionKey, log }: SharedAccessParts): SharedAccess | undefined {
  if (replica === undefined) return undefined
  return createSharedAccess({
    replica,
    ...(encryptionKey && { key: hash('sha256', encryptionKey, 'buffer') }),
    log: (level, message, facts) => log[level](facts ?? {}, message),
  })
}
