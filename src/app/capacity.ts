/** Connects the view of the cache's capacity with the store and Redis. */

import type { RedisCapacity } from '../admin/console/cache-types.ts'
import { type CapacityMonitor, createCapacityMonitor } from '../admin/console/capacity.ts'
import { readMemory } from '../redis/memory.ts'
import type { RedisReplica } from '../redis/replica.ts'
import type { Api } from './api.ts'

export function watchCapacity(
  { cache: { index, enabled }, storeState }: Pick<Api, 'cache' | 'storeState'>,
  replica: RedisReplica | undefined,
): CapacityMonitor {
  const readRedis = async (redis: RedisReplica): Promise<RedisCapacity> => {
    const memory = await readMemory(redis)
    if (memory === undefined) return {}
    const counts = await index.count()
    return { memory, entries: [...counts.values()].reduce((sum, count) => sum + count, 0) }
  }
  return createCapacityMonitor({
    ...(enabled && storeState && { local: () => storeState().local }),
    ...(replica && { readRedis: () => readRedis(replica) }),
  })
}
