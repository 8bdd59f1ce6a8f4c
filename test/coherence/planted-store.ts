/** Stands in for the store over Redis in a replica with a planted fault (replica.ts says where). */
import {
  createRedisStore as createWhole,
  type RedisStore,
  type RedisStoreOptions,
} from '../../src/store/redis/index.ts'
import { isPlanted, planted } from './planted.ts'

export async function createRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const store = await createWhole(options)
  const fault = process.argv[3] ?? ''
  return isPlanted(fault) ? planted[fault](store) : store
}
