/** Why stored responses leave the local tier: each one is counted once, by its reason. */
import t from 'tap'
import { createMemoryStore } from '../../../../src/cache/stores/memory-store.ts'
import type { CacheStoreState } from '../../../../src/core/cache.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { entry, epochsOf, fill, served, TAGS } from './contract.ts'
import { replica, steady } from './replicas.ts'

const NONE = { limit: 0, expired: 0, invalidated: 0, replaced: 0 }
const evictionsOf = (store: { state(): CacheStoreState }) => store.state().local.evictions

t.test('memory store: one reason for each response that left', async (t) => {
  let now = 0
  const store = createMemoryStore({ bytes: () => 6000, elapsed: () => now })
  t.teardown(() => store.close())
  const counted = (reasons: Partial<typeof NONE>, comment: string) =>
    t.strictSame(evictionsOf(store), { ...NONE, ...reasons }, comment)
  for (let at = 0; at < 3; at += 1) await fill(store, 'x'.repeat(1000), { key: `k${at}` })
  counted({ limit: 1 }, 'the third one has no room beside two others')
  await fill(store, 'y'.repeat(1000), { key: 'k2' })
  counted({ limit: 1, replaced: 1 }, 'a v4 response for the same request')
  await (await store.fence(TAGS.slice(2))).lift([])
  t.equal(await served(store, 'k2'), 'miss')
  counted({ limit: 1, replaced: 1 }, 'after a write, both are still in memory')
  await fill(store, 'z'.repeat(1000), { key: 'k2' })
  await fill(store, 'z'.repeat(1000), { key: 'k3' })
  counted({ limit: 1, replaced: 1, invalidated: 2 }, 'one replaced, the other evicted: neither could be served')
  now += 60_000
  t.equal(await served(store, 'k3'), 'miss')
  await fill(store, 'z'.repeat(1000), { key: 'k2' })
  counted({ limit: 1, replaced: 1, invalidated: 2, expired: 2 }, 'one found expired, the other replaced after its time')
  await store.purge({ keys: ['k2'] })
  counted({ limit: 1, replaced: 1, invalidated: 3, expired: 2 }, 'a purge by key')
  t.equal(store.state().local.entries, 0, 'seven were stored, and seven are counted')
})

t.test('Redis store: the same reasons, and a v4 response of another replica', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const localBytes = () => 6000
  const [{ store: one }, { store: other }] = await Promise.all([
    replica(t, redis, { localBytes, times: steady }),
    replica(t, redis, { localBytes, times: steady }),
  ])
  for (let at = 0; at < 3; at += 1) await fill(one, 'x'.repeat(1000), { key: `k${at}` })
  t.strictSame(evictionsOf(one), { ...NONE, limit: 1 })
  const epochs = await epochsOf(other, 'k2')
  await other.store({ ...entry('y', epochs), key: 'k2' })
  await eventually(async () => evictionsOf(one).replaced === 1)
  t.strictSame(evictionsOf(one), { ...NONE, limit: 1, replaced: 1 })
  await (await other.fence(['agent:001'])).lift([])
  await fill(one, 'z', { key: 'k1' })
  t.strictSame(evictionsOf(one), { ...NONE, limit: 1, replaced: 1, invalidated: 1 }, 'after a write through another')
  await one.purge({ keys: ['k1'] })
  t.strictSame(evictionsOf(one), { ...NONE, limit: 1, replaced: 1, invalidated: 2 })
  t.equal(one.state().local.entries, 0)
})

t.test('entries that only an outage would use make room first, whenever they were used', async (t) => {
  let now = 0
  const store = createMemoryStore({ bytes: () => 6000, elapsed: () => now })
  t.teardown(() => store.close())
  const fillFor = (key: string, ttl: number) =>
    fill(store, 'x'.repeat(1000), {
      key,
      more: { ttl, staleWhileRevalidate: 0, staleIfError: 0, staleInOutage: 3_600_000 },
    })
  await fillFor('long', 60_000)
  now += 2000
  await fillFor('short', 1000)
  now += 2000
  await fillFor('new', 60_000)
  t.equal(await served(store, 'long'), 'x'.repeat(1000))
  t.equal(await served(store, 'short'), 'miss')
  t.strictSame(evictionsOf(store), { ...NONE, limit: 1 })
})
