import t from 'tap'
import type { NewEntry } from '../../../src/cache/stores/contract.ts'
import { createRedisStore, type RedisStore } from '../../../src/cache/stores/redis-store.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { openRedisStore } from '../../support/redis-store.ts'
import { storedResponse } from '../../support/stored-response.ts'

const tags = ['agent:001', 'cache']
const listed = { url: '/agents/001', group: 'agents', endpoint: '/agents/:agent_id', scope: 'everyone', tags }

async function fill(store: RedisStore): Promise<void> {
  const lookup = await store.lookup('key', tags)
  if (lookup.kind !== 'miss') throw new Error(`no miss: ${lookup.kind}`)
  const entry: NewEntry = {
    key: 'key',
    tags,
    epochs: lookup.epochs,
    stored: storedResponse('{"error":0,"data":1}', { ttl: 60_000 }),
    info: listed,
  }
  await store.store(entry)
}

t.test('when Redis loses its data, no replica serves what a write has changed', async (t) => {
  const redis = await startRedis()
  const client = redis.client()
  const open = () =>
    openRedisStore({ redis: { url: redis.url }, localBytes: () => 1024 ** 2, times: { commandTimeout: 1000 } })
  const [writer, reader] = [await open(), await open()]
  t.teardown(async () => {
    await Promise.all([writer.close(), reader.close()])
    await redis.close()
  })

  await t.test('a writer waits for local tiers whose registrations were lost', async (t) => {
    await fill(reader)
    await reader.lookup('key', tags)
    t.match(await reader.lookup('key', tags), { kind: 'hit', isLocal: true }, 'a local hit')
    // The reader misses messages for a moment, and its registration is lost.
    await Promise.all([client.flushall(), client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')])
    const fence = await writer.fence(['agent:001'])
    t.not((await reader.lookup('key', tags)).kind, 'hit', 'it is not served once the write may be forwarded')
    await fence.lift([])
  })

  await t.test('a writer that started after the loss waits as well', async (t) => {
    await eventually(async () => {
      await fill(reader).catch(() => {})
      const lookup = await reader.lookup('key', tags)
      return lookup.kind === 'hit' && lookup.isLocal
    })
    await Promise.all([client.flushall(), client.call('CLIENT', 'KILL', 'TYPE', 'pubsub')])
    const newcomer = await open()
    t.teardown(() => newcomer.close())
    const fence = await newcomer.fence(['agent:001'])
    t.not((await reader.lookup('key', tags)).kind, 'hit')
    await fence.lift([])
  })

  await t.test('a lost fence is not mistaken for a lifted one', async (t) => {
    const fence = await writer.fence(['agent:001'])
    await client.flushall()
    const lookup = await reader.lookup('key', tags)
    t.ok(lookup.kind === 'unavailable' || lookup.epochs.fenced, 'nothing may be stored while the write is in progress')
    await fence.lift([])
  })

  await t.test('a lookup in flight when a heartbeat finds the loss does not miss a fence either', async (t) => {
    const times = { commandTimeout: 3000, heartbeatInterval: 50 }
    const replica = new RedisReplica({ redis: { url: redis.url }, times })
    let beats = 0
    replica.heartbeat.onBeat(() => {
      beats += 1
    })
    const patient = createRedisStore({ replica, groups: [], localBytes: () => 0 })
    await replica.start()
    t.teardown(async () => {
      await patient.close()
      await replica.close()
    })
    const fence = await writer.fence(['agent:001'])
    await eventually(async () => (await patient.lookup('key', tags)).kind !== 'unavailable')
    // Redis pauses, then runs the flush, a heartbeat and the lookup in this order.
    await client.call('CLIENT', 'PAUSE', '500')
    const flushed = client.flushall()
    const before = beats
    await eventually(() => beats > before)
    const lookup = await patient.lookup('key', tags)
    await flushed
    t.ok(lookup.kind === 'unavailable' || lookup.epochs.fenced, 'nothing may be stored while the write is in progress')
    await fence.lift([])
  })
})
