/** The connection to Redis from the configuration. */
import { readFile } from 'node:fs/promises'
import type { Config } from '../config/schema.ts'
import { usesRedisTls } from '../config/section-rules.ts'
import type { RedisConnectionOptions } from '../redis/options.ts'

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
