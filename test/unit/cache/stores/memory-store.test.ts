import t from 'tap'
import { createMemoryStore } from '../../../../src/cache/stores/memory-store.ts'
import { storedResponse } from '../../../support/stored-response.ts'
import { describeStore, epochsOf, fill, served, TAGS } from './contract.ts'

describeStore(t, async (t) => {
  const store = createMemoryStore({ bytes: () => 1_000_000 })
  t.teardown(() => store.close())
  return { one: store, other: store }
})

t.test('entries age by the given clock and expire', async (t) => {
  let now = 1000
  const store = createMemoryStore({ bytes: () => 1_000_000, elapsed: () => now })
  await fill(store, 'text')
  now += 19_000
  t.match(await store.lookup('k', ['cache', 'cache:agents', 'agent:001', 'agent:*']), { age: 19_000 })
  t.match(await store.list(), [{ age: 19_000, timeLeft: 11_000, hits: 1 }])
  now += 11_000
  t.equal(await served(store), 'miss')
  t.same(await store.list(), [])
})

t.test('the age of a response counts from the reading of its epochs', async (t) => {
  let now = 0
  const store = createMemoryStore({ bytes: () => 1_000_000, elapsed: () => now })
  const epochs = await epochsOf(store, 'k', ['cache'])
  now = 400
  const listed = { url: '/', group: 'agents', endpoint: '/', scope: 'everyone', tags: ['cache'] }
  const stored = storedResponse('x', { ttl: 1000 })
  await store.store({ key: 'k', tags: ['cache'], epochs, info: listed, stored })
  t.match(await store.lookup('k', ['cache']), { kind: 'hit', age: 400 })
})

t.test('a fence lasts as long as its write, or for its lease if the outcome is unknown', async (t) => {
  let now = 0
  const store = createMemoryStore({ bytes: () => 1_000_000, fenceLease: 1000, elapsed: () => now })
  const fence = await store.fence(['agent:001'])
  now = 5000
  t.equal((await epochsOf(store)).fenced, true)
  fence.keepUntilLeaseEnds()
  now = 5999
  t.equal((await epochsOf(store)).fenced, true)
  now = 6000
  t.equal((await epochsOf(store)).fenced, false)
})

t.test('the least recently used entries are evicted beyond the limit of bytes', async (t) => {
  const store = createMemoryStore({ bytes: () => 20_000 })
  for (let at = 0; at < 20; at += 1) {
    await fill(store, 'x'.repeat(3000), { key: `k${at}` })
    await store.peek('k0', TAGS)
  }
  t.equal(await served(store, 'k0'), 'miss', 'a peek does not count as a use')
  t.equal(await served(store, 'k19'), 'x'.repeat(3000))
  t.ok((await store.list()).length < 7)
  await fill(store, 'y'.repeat(30_000), { key: 'large' })
  t.equal(await served(store, 'large'), 'miss')
})
