import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import type { NewStoredResponse } from '../../../src/cache/stores/contract.ts'
import type { RedisStore } from '../../../src/cache/stores/redis-store.ts'
import { startRedis } from '../../support/redis.ts'
import { openRedisStore } from '../../support/redis-store.ts'
import { eventually } from '../../unit/cache/stores/replicas.ts'

const tags = ['agent:001', 'cache']
const listed = { url: '/agents/001', group: 'agents', endpoint: '/agents/:agent_id', scope: 'everyone', tags }

async function fill(store: RedisStore): Promise<void> {
  const look = await store.lookup('key', tags)
  if (look.kind !== 'miss') throw new Error(`nothing to fill: ${look.kind}`)
  const bytes = Buffer.from('{"error":0,"data":1}')
  const times = { ttl: 60_000, staleWhileRevalidate: 0, staleIfError: 0, fetchTime: 1 }
  const entry: NewStoredResponse = {
    key: 'key',
    tags,
    epochs: look.epochs,
    response: { status: 200, body: bytes, etag: '"1"', ...times },
    info: listed,
  }
  await store.store(entry)
}

t.test('Redis loses its memory: nobody serves what was before a write', async (t) => {
  const redis = await startRedis()
  const client = redis.client()
  const open = () => openRedisStore({ redis: { url: redis.url }, localBytes: 1024 ** 2, times: { commandTimeout: 50 } })
  const [writer, reader] = [await open(), await open()]
  t.teardown(async () => {
    await Promise.all([writer.close(), reader.close()])
    await redis.close()
  })

  await t.test('a writer waits for near copies whose registrations were lost', async (t) => {
    await fill(reader)
    await reader.lookup('key', tags)
    t.match(await reader.lookup('key', tags), { kind: 'hit', isLocal: true }, 'a near copy')
    // The reader hears of nothing for a moment, and nobody knows any more that it is there.
    await Promise.all([client.flushall(), client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')])
    const fence = await writer.fence(['agent:001'])
    t.not((await reader.lookup('key', tags)).kind, 'hit', 'it is not served once the write may be forwarded')
    await fence.lift([])
  })

  await t.test('so does a writer that was not there when they were lost', async (t) => {
    await eventually(async () => {
      await fill(reader).catch(() => {})
      const look = await reader.lookup('key', tags)
      return look.kind === 'hit' && look.isLocal
    })
    await Promise.all([client.flushall(), client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')])
    const newcomer = await open()
    t.teardown(() => newcomer.close())
    const fence = await newcomer.fence(['agent:001'])
    t.not((await reader.lookup('key', tags)).kind, 'hit')
    await fence.lift([])
  })

  await t.test('a fence that was lost is not taken for one that was lifted', async (t) => {
    const fence = await writer.fence(['agent:001'])
    await client.flushall()
    const look = await reader.lookup('key', tags)
    t.ok(look.kind === 'unavailable' || look.epochs.fenced, 'nothing may be kept while the write is under way')
    await fence.lift([])
  })

  await t.test('nor by a look that was on its way when a heartbeat found the loss', async (t) => {
    const times = { commandTimeout: 3000, heartbeatInterval: 50 }
    const patient = await openRedisStore({ redis: { url: redis.url }, localBytes: 0, times })
    t.teardown(() => patient.close())
    const fence = await writer.fence(['agent:001'])
    await eventually(async () => (await patient.lookup('key', tags)).kind !== 'unavailable')
    // Redis answers nobody for a moment: then the flush, a heartbeat and the look, in that order.
    await client.call('CLIENT', 'PAUSE', '500')
    const flushed = client.flushall()
    await wait(200)
    const look = await patient.lookup('key', tags)
    await flushed
    t.ok(look.kind === 'unavailable' || look.epochs.fenced, 'nothing may be kept while the write is under way')
    await fence.lift([])
  })
})
