/** What each kind of Redis reports of its memory. */
import t, { type Test } from 'tap'
import { readMemory } from '../../../src/replicas/memory.ts'
import type { RedisConnectionOptions } from '../../../src/replicas/options.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { eventually } from '../../support/eventually.ts'
import { startCluster, startRedis, startSentinels } from '../../support/redis.ts'

const MB = 1 << 20

async function replicaOf(t: Test, redis: RedisConnectionOptions): Promise<RedisReplica> {
  const replica = new RedisReplica({ redis, times: { commandTimeout: 1000 } })
  t.teardown(() => replica.close())
  await replica.start()
  return replica
}

t.test('one server: used memory, limit, policy, and keys that were evicted and that expired', async (t) => {
  const redis = await startRedis({ args: ['--maxmemory', '5mb', '--maxmemory-policy', 'volatile-lru'] })
  t.teardown(() => redis.close())
  const replica = await replicaOf(t, { url: redis.url })
  const client = redis.client()
  const before = await readMemory(replica)
  t.match(before, { limit: 5 * MB, policy: 'volatile-lru', evictions: { limit: 0 } })
  for (let at = 0; at < 100; at += 1) await client.set(`edge:filler:${at}`, 'x'.repeat(100_000), 'PX', 600_000)
  await client.set('edge:short', 'x', 'PX', 1)
  await eventually(async () => (await client.exists('edge:short')) === 0)
  const after = await readMemory(replica)
  if (after === undefined) return t.fail('Redis did not reply')
  t.ok(after.evictions.limit > 50, `${after.evictions.limit} of 100 were evicted`)
  t.ok(after.evictions.expired >= 1)
  t.ok(after.bytes > 4 * MB && after.bytes < 6 * MB, `${after.bytes}`)
  t.equal(after.fullest, after.bytes / (5 * MB))
  await client.config('SET', 'maxmemory', '0')
  const unlimited = await readMemory(replica)
  t.match(unlimited, { policy: 'volatile-lru' })
  t.notOk('limit' in (unlimited ?? {}) || 'fullest' in (unlimited ?? {}), 'no limit')
})

t.test('a cluster: the sums over its primaries, and the share of the fullest one', async (t) => {
  const cluster = await startCluster(3, { args: ['--maxmemory', '20mb', '--maxmemory-policy', 'noeviction'] })
  t.teardown(() => cluster.close())
  const places = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const replica = await replicaOf(t, { cluster: places })
  await eventually(async () => replica.bodies.primaries.length === 3)
  // One slot, of one primary.
  for (let at = 0; at < 15; at += 1)
    await replica.bodies.send(5000, (client) => client.set(`edge:{one}:${at}`, 'x'.repeat(MB)))
  const memory = await readMemory(replica)
  if (memory === undefined) return t.fail('Redis did not reply')
  t.match(memory, { limit: 60 * MB, policy: 'noeviction' })
  t.ok((memory.fullest ?? 0) > 0.75, `${memory.fullest} of the fullest primary`)
  t.ok(memory.bytes < 0.5 * 60 * MB, `${memory.bytes} of all`)
})

t.test('sentinels: the memory of the primary', async (t) => {
  const { name, primary, replica: second, sentinels, close } = await startSentinels({ count: 1 })
  t.teardown(close)
  await primary.client().config('SET', 'maxmemory', '30mb')
  await second.client().config('SET', 'maxmemory', '40mb')
  t.match(await readMemory(await replicaOf(t, { sentinels, name })), { limit: 30 * MB })
})

t.test('nothing is known while Redis is unreachable', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const replica = await replicaOf(t, { url: redis.url })
  await redis.kill()
  await eventually(async () => !replica.bodies.isReady)
  t.equal(await readMemory(replica), undefined)
})
