/** What replicas share of access through the Redis of the cache; without one each replica is alone. */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/index.ts'
import { redisPlace } from '../config/redis-place.ts'
import { createSharedAccess, type SharedAccess } from '../redis/shared-access.ts'

/** Rejects when a file that the settings name cannot be read; Redis itself may be away. */
export async function buildShared({ cache, access }: Config, log: Logger): Promise<SharedAccess | undefined> {
  const redis = await redisPlace(cache.redis)
  if (redis === undefined) return undefined
  const sealing = cache.encryptionKeyFile === undefined ? undefined : await readFile(cache.encryptionKeyFile)
  return createSharedAccess({
    redis,
    times: { command: cache.redis.timeout },
    failures: access.limits.failedLogins,
    ...(sealing && { key: hash('sha256', sealing, 'buffer') }),
    log: (level, message, facts) => log[level](facts ?? {}, message),
  })
}
