import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { STORE_COMMANDS } from '../../../support/redis-commands.ts'
import { recordCommands } from '../../../support/redis-monitor.ts'
import { fill, served } from './contract.ts'
import { replica } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())

t.test('the store uses listed commands only, and none that iterates over all keys', async (t) => {
  const commands = await recordCommands(server.port, async () => {
    const { store } = await replica(t, server)
    const other = await replica(t, server)
    for (let at = 0; at < 5; at += 1) await fill(store, 'text', { key: `k${at}` })
    for (let at = 0; at < 50; at += 1) await served(other.store, `k${at % 7}`)
    const fence = await store.fence(['agent:001'])
    fence.keepUntilLeaseEnds()
    await (await store.fence(['agent:002'])).lift(['agent:003'])
    const lookup = await other.store.lookup('k', ['cache'])
    if (lookup.kind === 'unavailable') throw new Error('unavailable')
    const lock = await store.acquireFetchLock('k', lookup.epochs, 1000)
    await other.store.acquireFetchLock('k', lookup.epochs, 1000)
    if (lock.held) await lock.release()
    await store.list()
    await store.purge({ keys: ['k1'] })
    await store.purge({ group: 'agents' })
    await store.purge({})
  })
  const names = new Set(commands.map(({ words }) => words[0] ?? ''))
  for (const name of names) t.ok(STORE_COMMANDS.includes(name), name)
  for (const { words } of commands) {
    t.notMatch(words[0] ?? '', /^(keys|scan|flushall|flushdb|hgetall|mget)$/i)
    if (/^h?m?get$|^hdel$|^zrem$/i.test(words[0] ?? '')) t.ok(words.length <= 66, words.join(' ').slice(0, 100))
  }
})

t.test('a lookup costs one round trip, none in the local tier, with scripts by their SHA', async (t) => {
  await server.client().flushall()
  // Neither heartbeats nor hit counts during the measurement.
  const times = { heartbeatInterval: 60_000, lease: 120_000, bulkTimeout: 60_000 }
  const { store } = await replica(t, server, { times })
  const { store: remote } = await replica(t, server, { localBytes: () => 0, times })
  await fill(store, 'text')
  const local = await recordCommands(server.port, async () => {
    for (let at = 0; at < 100; at += 1) await served(store)
  })
  t.same(
    local.filter(({ isFromScript }) => !isFromScript).map(({ words }) => words[0]),
    [],
    'local',
  )
  const asked = await recordCommands(server.port, () => served(remote))
  const sent = asked.filter(({ isFromScript }) => !isFromScript).map(({ words }) => words[0] ?? '')
  t.same(sent.sort(), ['evalsha', 'evalsha'])
})

/** `npm run check:keys` checks a million. */
const KEYS = 6000

t.test('many expired keys leave no data behind', async (t) => {
  const client = server.client()
  await client.flushall()
  const localBytes = 2_000_000
  const { store } = await replica(t, server, { localBytes: () => localBytes, times: { commandTimeout: 2000 } })
  const times = { ttl: 1500, staleWhileRevalidate: 0, staleIfError: 0 }
  const before = await client.dbsize()
  const memory = async () => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1])
  const used = await memory()
  const heap = process.memoryUsage().heapUsed
  for (let at = 0; at < KEYS; at += 500) {
    await Promise.all(
      Array.from({ length: 500 }, (_, each) => {
        const agent = String(at + each).padStart(6, '0')
        const tags = ['cache', 'cache:agents', `agent:${agent}`, 'agent:*']
        return fill(store, `text ${agent}`, { key: `key ${agent}`, tags, more: times })
      }),
    )
  }
  await eventually(async () => (await client.dbsize()) <= before + 2, 60_000)
  const left = (await client.keys('*')).sort()
  t.same(
    left.filter((key) => !key.startsWith('edge:{e}')),
    [],
    'only epochs',
  )
  t.ok((await client.hlen('edge:{e}')) < 10, 'tags that were never invalidated have no epoch')
  t.ok((await memory()) - used < 4_000_000)
  t.ok(process.memoryUsage().heapUsed - heap < 150_000_000, `${process.memoryUsage().heapUsed - heap}`)
  t.same(await store.list(), [])
})
