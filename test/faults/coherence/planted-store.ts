/** Replaces the Redis store in a replica with a planted fault (see replica.ts). */
import type * as Redis from '../../../src/cache/stores/redis-store.ts'
import { edgeModule } from './built.ts'
import { isPlanted, planted } from './planted.ts'

const whole = (await import(edgeModule('cache/stores/redis-store'))) as typeof Redis

export function createRedisStore(options: Redis.RedisStoreOptions): Redis.RedisStore {
  const store = whole.createRedisStore(options)
  const fault = process.argv[3] ?? ''
  return isPlanted(fault) ? planted[fault](store) : store
}
