import t from 'tap'
import { createEntryCodec } from '../../../../src/cache/stores/entry-codec.ts'
import { startRedis } from '../../../support/redis.ts'
import { epochsOf, fill, fillAndList, TAGS } from './contract.ts'
import { replica } from './replicas.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

const codec = createEntryCodec()
const LISTED = { url: '/agents', group: 'agents', endpoint: '/agents', scope: 'everyone', tags: TAGS }
const ANSWER = { status: 200, etag: '"v1"', keepFor: 20_000, staleWhileRevalidate: 5000, staleIfError: 10_000, cost: 7 }

t.test('an entry that version 0.1.0 wrote is a miss, and its index row is read', async (t) => {
  const { store, events } = await replica(t, redis, { localBytes: () => 0 })
  const { generation, epochs } = await epochsOf(store, 'old')
  const client = redis.client()
  const head = { generation, epochs, tags: TAGS, listed: LISTED, answer: ANSWER }
  await client.set('edge:c:old', await codec.encode('edge:c:old', head, Buffer.from('body')), 'PX', 29_000)
  t.match(await store.lookup('old', TAGS), { kind: 'miss', changed: false })
  await fillAndList(store, 'new', { key: 'old' })
  t.match(await store.lookup('old', TAGS), { kind: 'hit', response: { body: Buffer.from('new') } })
  const stored = await codec.decode('edge:c:old', (await client.getBuffer('edge:c:old')) ?? Buffer.alloc(0))
  t.match(stored, { head, body: Buffer.from('body') }, 'a replica of that version has its entry still')
  t.strictSame(events, [])

  const row = { listed: LISTED, generation, epochs, whole: 30_000, size: 4, cost: 7 }
  await client.zadd('edge:i:{agents}', Date.now() + 29_000, 'old')
  await client.hset('edge:i:{agents}:rows', 'old', codec.encodeHead('row:old', row))
  t.match(await store.list('agents'), [{ ...LISTED, key: 'old', size: 4, fetchTime: 7 }])
})

t.test('a status is stored in Redis for its lifetime and the time that a replica may serve it stale', async (t) => {
  const { store } = await replica(t, redis, { localBytes: () => 0 })
  const more = { ttl: 20_000, staleWhileRevalidate: 0, staleIfError: 0, staleWhileHot: 3000 }
  await fill(store, 'status', { key: 'status', more })
  t.match(await store.lookup('status', TAGS), { kind: 'hit', response: more })
  const left = await redis.client().pttl('edge:c:2:status')
  t.ok(left > 20_000 && left <= 23_000)
})

t.test('a row that this version writes is what version 0.1.0 reads', async (t) => {
  const { store } = await replica(t, redis, { localBytes: () => 0 })
  await fillAndList(store, 'v1', { key: 'new' })
  const listed = { ...LISTED, url: '/agents?text=v1' }
  const bytes = await redis.client().hgetBuffer('edge:i:{agents}:rows', 'new')
  t.match(codec.decodeHead('row:new', bytes ?? Buffer.alloc(0)), { listed, whole: 30_000, size: 2, cost: 7 })
})
