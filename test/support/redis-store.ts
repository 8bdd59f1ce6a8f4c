/** A store over Redis with its own replica: `close` closes both. */
import { createRedisStore, type RedisStore, type RedisStoreOptions } from '../../src/cache/stores/redis-store.ts'
import { cacheGroups } from '../../src/config/schema.ts'
import { RedisReplica, type RedisReplicaOptions } from '../../src/replicas/replica.ts'

export type OpenStoreOptions = Omit<RedisStoreOptions, 'replica' | 'groups'> & RedisReplicaOptions

export async function openRedisStore(options: OpenStoreOptions): Promise<RedisStore> {
  const replica = new RedisReplica(options)
  const store = createRedisStore({ ...options, groups: cacheGroups, replica })
  await replica.start()
  return {
    ...store,
    close: async () => {
      await store.close()
      await replica.close()
    },
  }
}
