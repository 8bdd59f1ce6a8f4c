import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Logger } from 'pino'
import { usesRedisTls } from '../config/cache-rules.ts'
import type { Config } from '../config/index.ts'
import { createSharedAccess, type SharedAccess } from '../redis/shared-access.ts'

/** Where Redis is and how it is spoken to, from the settings: what the store opens connections with. */

export interface RedisPlace {
  readonly url?: string
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[]
  readonly name?: string
  readonly cluster?: readonly { readonly host: string; readonly port: number }[]
  readonly username?: string
  readonly password?: string
  readonly tls?: { readonly ca?: string }
}

/** `undefined`: no Redis is configured. Reads the CA; rejects where that cannot be read any more. */
export async function redisPlace(redis: Config['cache']['redis']): Promise<RedisPlace | undefined> {
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

/** What replicas share of access through the Redis of the cache; without one each replica is alone. */

/** Rejects when a file that the settings name cannot be read; Redis itself may be away. */
export async function buildShared({ cache, access }: Config, log: Logger): Promise<SharedAccess | undefined> {
  const redis = await redisPlace(cache.redis)
  if (redis === undefined) return undefined
  const sealing = cache.encryptionKeyFile === undefined ? undefined : await readFile(cache.encryptionKeyFile)
  return createSharedAccess({
    redis,
    times: { commandTimeout: cache.redis.timeout },
    failures: access.limits.failedLogins,
    ...(sealing && { key: hash('sha256', sealing, 'buffer') }),
    log: (level, message, facts) => log[level](facts ?? {}, message),
  })
}
