import { defaultTimes } from '../cache/stores/redis/options.ts'
import type { Config } from '../config/index.ts'
import { redisPlace } from '../config/redis-place.ts'
import { connect } from '../redis/connect.ts'
import { Link } from '../redis/link.ts'

export type RedisVerdict = { readonly ok: true } | { readonly ok: false; readonly why: string }

/**
 * Can the Redis of these settings be used? `undefined`: they name none. It asks as a guest: a store of its own would
 * count as one more replica, and writes elsewhere would wait for it once it is gone.
 */
export async function askRedis(redis: Config['cache']['redis']): Promise<RedisVerdict | undefined> {
  const place = await redisPlace(redis)
  if (place === undefined) return undefined
  const link = new Link(connect(place, defaultTimes))
  try {
    await link.connected(defaultTimes.slow)
    const reply = await link.step(defaultTimes.slow, (client) => client.info('memory'))
    if (!reply.ok) return { ok: false, why: `${reply.fault}; look at cache.redis and at the user's ACL line` }
    return verdict(reply.value)
  } finally {
    link.close()
  }
}

/** Fences and epochs have no time to live: a policy that may evict them makes answers wrong (docs/cache.md). */
function verdict(memory: string): RedisVerdict {
  const policy = /^maxmemory_policy:(allkeys-\w+)/m.exec(memory)?.[1]
  if (policy === undefined) return { ok: true }
  return { ok: false, why: `maxmemory-policy ${policy} drops what makes answers right; set volatile-lru` }
}
