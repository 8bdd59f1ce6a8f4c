import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { fill, hitOf, TAGS } from './contract.ts'
import { replica } from './replicas.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

/** A response that is served stale only while it is hot. */
const more = { ttl: 2000, staleWhileRevalidate: 0, staleIfError: 0, staleWhileHot: 60_000 }

t.test('a status is kept after its lifetime, by the replicas that use it and for those that do not yet', async (t) => {
  const [one, other, third] = [await replica(t, redis), await replica(t, redis), await replica(t, redis)]
  await fill(one.store, 'status', { more })
  await other.store.lookup('k', TAGS)
  for (const { store } of [one, other]) {
    await eventually(async () => {
      const lookup = await store.lookup('k', TAGS)
      return lookup.kind === 'hit' && lookup.isLocal && lookup.age >= lookup.response.ttl
    })
    t.match(hitOf(await store.lookup('k', TAGS)), { staleWhileHot: 60_000, staleWhileRevalidate: 0 })
  }
  const later = hitOf(await third.store.lookup('k', TAGS))
  t.ok(later.age >= later.ttl, 'at the limit of a node, one fetch serves all replicas')
})

t.test('after a soft purge a status is not served stale', async (t) => {
  const { store } = await replica(t, redis)
  await fill(store, 'status', { key: 'purged', more: { ...more, ttl: 60_000 } })
  t.match(hitOf(await store.lookup('purged', TAGS)), { staleWhileHot: 60_000 })
  await store.purge({ soft: true })
  const stored = hitOf(await store.lookup('purged', TAGS))
  t.ok(stored.age >= stored.ttl)
  t.strictSame([stored.staleWhileHot, stored.staleWhileRevalidate, stored.staleIfError], [0, 0, 0])
})
