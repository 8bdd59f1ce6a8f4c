import t from 'tap'
import { createMemoryStore } from '../../../../src/cache/stores/memory-store.ts'
import { contract, fill, markOf, served, TAGS } from './contract.ts'

contract(t, async (t) => {
  const store = createMemoryStore({ bytes: 1_000_000 })
  t.teardown(() => store.close())
  return { one: store, other: store }
})

t.test('entries age by the clock that was given, and end', async (t) => {
  let now = 1000
  const store = createMemoryStore({ bytes: 1_000_000, elapsed: () => now })
  await fill(store, 'text')
  now += 19_000
  t.match(await store.lookup('k', ['cache', 'cache:agents', 'agent:001', 'agent:*']), { response: { age: 19_000 } })
  t.match(await store.list(), [{ age: 19_000, timeLeft: 11_000, hits: 1 }])
  now += 11_000
  t.equal(await served(store), 'miss')
  t.same(await store.list(), [])
})

t.test('a fill is as old as the mark that it began with', async (t) => {
  let now = 0
  const store = createMemoryStore({ bytes: 1_000_000, elapsed: () => now })
  const mark = await markOf(store, 'k', ['cache'])
  now = 400
  const listed = { url: '/', group: 'agents', endpoint: '/', scope: 'everyone', tags: ['cache'] }
  const times = { ttl: 1000, staleWhileRevalidate: 0, staleIfError: 0, fetchTime: 1 }
  const answer = { status: 200, body: Buffer.from('x'), etag: '"x"', ...times }
  await store.store({ key: 'k', tags: ['cache'], epochs: mark, info: listed, response: answer })
  t.match(await store.lookup('k', ['cache']), { kind: 'hit', response: { age: 400 } })
})

t.test('a fence that was left stands for its lease, one under way as long as it takes', async (t) => {
  let now = 0
  const store = createMemoryStore({ bytes: 1_000_000, fenceLease: 1000, elapsed: () => now })
  const fence = await store.fence(['agent:001'])
  now = 5000
  t.equal((await markOf(store)).fenced, true)
  fence.keepUntilLeaseEnds()
  now = 5999
  t.equal((await markOf(store)).fenced, true)
  now = 6000
  t.equal((await markOf(store)).fenced, false)
})

t.test('bytes are bounded: the least recently used go', async (t) => {
  const store = createMemoryStore({ bytes: 20_000 })
  for (let at = 0; at < 20; at += 1) {
    await fill(store, 'x'.repeat(3000), { key: `k${at}` })
    await store.peek('k0', TAGS)
  }
  t.equal(await served(store, 'k0'), 'miss', 'to be peeked at is no use')
  t.equal(await served(store, 'k19'), 'x'.repeat(3000))
  t.ok((await store.list()).length < 7)
  await fill(store, 'y'.repeat(30_000), { key: 'large' })
  t.equal(await served(store, 'large'), 'miss')
})
