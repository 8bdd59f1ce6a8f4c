import t from 'tap'
import { createEntryCodec } from '../../../../src/cache/stores/redis-entries.ts'
import { startRedis } from '../../../support/redis.ts'
import { epochsOf, fill, TAGS } from './contract.ts'
import { replica } from './replicas.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

const codec = createEntryCodec()
const LISTED = { url: '/agents', group: 'agents', endpoint: '/agents', scope: 'everyone', tags: TAGS }
const ANSWER = { status: 200, etag: '"v1"', keepFor: 20_000, staleWhileRevalidate: 5000, staleIfError: 10_000, cost: 7 }

t.test('an entry and an index row that version 0.1.0 wrote are read', async (t) => {
  const { store } = await replica(t, redis, { localBytes: () => 0 })
  const { generation, epochs } = await epochsOf(store, 'old')
  const client = redis.client()
  const head = { generation, epochs, tags: TAGS, listed: LISTED, answer: { ...ANSWER, clusterStatus: 'm;rows=1' } }
  await client.set('edge:c:old', codec.encode('edge:c:old', head, Buffer.from('body')), 'PX', 29_000)
  t.match(await store.lookup('old', TAGS), {
    kind: 'hit',
    response: {
      status: 200,
      body: Buffer.from('body'),
      etag: '"v1"',
      ttl: 20_000,
      staleWhileRevalidate: 5000,
      staleIfError: 10_000,
      fetchTime: 7,
      clusterStatus: 'm;rows=1',
    },
  })

  const row = { listed: LISTED, generation, epochs, whole: 30_000, size: 4, cost: 7 }
  await client.sadd('edge:i', 'agents')
  await client.zadd('edge:i:{agents}', Date.now() + 29_000, 'old')
  await client.hset('edge:i:{agents}:rows', 'old', codec.encode('row:old', row, Buffer.alloc(0)))
  t.match(await store.list('agents'), [{ ...LISTED, key: 'old', size: 4, fetchTime: 7, hits: 0 }])
})

t.test(
  'a status is stored in Redis for its lifetime only, with the time that a replica may serve it stale',
  async (t) => {
    const { store } = await replica(t, redis, { localBytes: () => 0 })
    const more = { ttl: 20_000, staleWhileRevalidate: 0, staleIfError: 0, staleWhileHot: 3000 }
    await fill(store, 'status', { key: 'status', more })
    t.match(await store.lookup('status', TAGS), { kind: 'hit', response: more })
    // Version 0.1.0 rejects an entry that expires later than by the times that it knows.
    t.ok((await redis.client().pttl('edge:c:status')) <= 20_000)
  },
)

t.test('what this version writes is what version 0.1.0 reads', async (t) => {
  const { store } = await replica(t, redis, { localBytes: () => 0 })
  await fill(store, 'v1', { key: 'new' })
  const client = redis.client()
  const entry = codec.decode('edge:c:new', (await client.getBuffer('edge:c:new')) ?? Buffer.alloc(0))
  const listed = { ...LISTED, url: '/agents?text=v1' }
  t.match(entry, { head: { tags: TAGS, listed, answer: ANSWER }, body: Buffer.from('v1') })
  const row = codec.decode('row:new', (await client.hgetBuffer('edge:i:{agents}:rows', 'new')) ?? Buffer.alloc(0))
  t.match(row?.head, { listed, whole: 30_000, size: 2, cost: 7 })
})
