import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createEntryCodec } from '../../../../src/cache/stores/entry-codec.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { epochsOf, fill, fillAndList, served, withoutTime } from './contract.ts'
import { replica } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())
const remote = { localBytes: () => 0 }

t.test('a damaged entry is a miss with an event, and is replaced by the next fetch', async (t) => {
  const client = server.client()
  for (const encryptionKey of [undefined, Buffer.from('a key of a test')]) {
    const sealing = encryptionKey === undefined ? {} : { encryptionKey }
    const { store, events } = await replica(t, server, { ...remote, ...sealing })
    const ways: (() => Promise<unknown>)[] = [
      () => client.set('edge:c:2:k', randomBytes(500), 'PX', 20_000),
      () => client.set('edge:c:2:k', '', 'PX', 20_000),
      () => client.setrange('edge:c:2:k', 60, '!!!!'),
      () => client.append('edge:c:2:k', 'more'),
      () => client.persist('edge:c:2:k'),
      () => client.pexpire('edge:c:2:k', 3_600_000),
      async () => client.multi().del('edge:c:2:k').lpush('edge:c:2:k', 'a list').exec(),
    ]
    for (const [at, damage] of ways.entries()) {
      await fill(store, 'whole')
      t.equal(await served(store), 'whole')
      await damage()
      events.length = 0
      t.equal(await served(store), 'miss', `way ${at}`)
      const isReplaced = at === ways.length - 1
      await eventually(() => events.length > 0)
      t.same(events, [isReplaced ? 'repaired' : 'corrupt'])
    }
    await fill(store, 'whole')
    t.equal(await served(store), 'whole')
  }
})

t.test('an entry whose fields would inject a header is a miss', async (t) => {
  const client = server.client()
  const { store, events } = await replica(t, server, remote)
  const codec = createEntryCodec()
  for (const [name, text] of [
    ['etag', '"a"\r\nset-cookie: b'],
    ['clusterStatus', 'master\nset-cookie: b'],
  ] as const) {
    await fill(store, 'whole')
    const opened = await codec.decode('edge:c:2:k', (await client.getBuffer('edge:c:2:k')) ?? Buffer.alloc(0))
    const { fields, ...head } = (opened?.head ?? {}) as { readonly fields?: object }
    const damaged = { ...head, fields: { ...fields, [name]: text } }
    const planted = await codec.encode('edge:c:2:k', damaged, Buffer.from('planted'))
    await client.set('edge:c:2:k', planted, 'KEEPTTL')
    events.length = 0
    t.equal(await served(store), 'miss', name)
    t.same(events, ['corrupt'])
  }
})

t.test('an entry that was copied to another key is a miss', async (t) => {
  const { store } = await replica(t, server, remote)
  await fill(store, 'of one', { key: 'one' })
  await server.client().copy('edge:c:2:one', 'edge:c:2:other')
  t.equal(await served(store, 'other'), 'miss')
})

t.test('garbage in epochs, rows and messages does no harm', async (t) => {
  const { store } = await replica(t, server)
  const client = server.client()
  for (const text of ['', 'not json', '[]', 'null', '{"tags":5}', '{"q":"x","tags":["a"]}']) {
    await client.publish('edge:{e}:raised', text)
  }
  await fillAndList(store, 'stored')
  await client.hset('edge:i:{agents}:rows', 'k', 'garbage')
  t.notOk((await store.list('agents')).some((row) => row.key === 'k'))
  await client.set('edge:{e}', 'not a hash')
  await eventually(async () => (await served(store)) === 'unavailable')
  await client.del('edge:{e}')
  await eventually(async () => (await served(store)) === 'miss')
})

t.test('a full Redis rejects entries but accepts invalidations', async (t) => {
  const small = await startRedis({ args: ['--maxmemory', '3mb', '--maxmemory-policy', 'noeviction'] })
  t.teardown(() => small.close())
  const { store, events } = await replica(t, small, remote)
  await fill(store, 'small')
  for (let at = 0; at < 40 && !events.includes('full'); at += 1)
    await fill(store, 'x'.repeat(200_000), { key: `k${at}` })
  t.ok(events.includes('full'))
  t.equal(await served(store), 'small')
  const before = await epochsOf(store)
  const fence = await store.fence(['agent:001'])
  t.equal(fence.state, 'active')
  await fence.lift([])
  t.equal(await served(store), 'miss')
  t.equal((await epochsOf(store)).generation, before.generation)
})

t.test('a full Redis that evicts keeps the epochs', async (t) => {
  const small = await startRedis({ args: ['--maxmemory', '8mb', '--maxmemory-policy', 'volatile-lru'] })
  t.teardown(() => small.close())
  const { store, events } = await replica(t, small, remote)
  await (await store.fence(['agent:001'])).lift([])
  const before = await epochsOf(store)
  for (let at = 0; at < 60; at += 1) await fill(store, 'x'.repeat(200_000), { key: `k${at}` })
  t.same(withoutTime(await epochsOf(store)), withoutTime(before))
  t.notOk(events.includes('full'))
  let left = 0
  for (let at = 0; at < 60; at += 1) if ((await served(store, `k${at}`)) !== 'miss') left += 1
  t.ok(left > 0 && left < 45, `${left} of 60 left`)
})
