import t, { type Test } from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../../support/redis.ts'
import { entry, epochsOf, fill, served } from './contract.ts'
import { replica as anyReplica, shortTimes as longer, type ReplicaOptions, sleep } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())

/** A short command timeout, since these tests check how soon a command is given up. */
const shortTimes = { ...longer, commandTimeout: 80, socketTimeout: 500 }
const replica = (t: Test, redis: RedisServer, { times, ...more }: ReplicaOptions = {}) =>
  anyReplica(t, redis, { ...more, times: { ...shortTimes, ...times } })

async function timed<Value>(run: () => Promise<Value>): Promise<{ value: Value; took: number }> {
  const begin = performance.now()
  const value = await run()
  return { value, took: performance.now() - begin }
}

/** Returns the outcome, or `late` if a timer of this time ends before: timers are late on a busy machine as well. */
function before<Value>(time: number, outcome: Promise<Value>): Promise<Value | 'late'> {
  return Promise.race([outcome, sleep(time).then(() => 'late' as const)])
}

/** Pauses Redis while `during` runs. */
async function stalled(redis: RedisServer, during: () => Promise<void>): Promise<void> {
  redis.pause()
  await during().finally(() => redis.resume())
}

t.test(
  'a stalled Redis makes lookups unavailable after one command timeout, then at once, until it returns',
  async (t) => {
    const { store, events } = await replica(t, server, { localBytes: () => 0 })
    await fill(store, 'stored')
    await stalled(server, async () => {
      // Compared with a timer at the same moment: on a busy machine timers are late as well.
      const [first, step] = await Promise.all([
        timed(() => served(store)),
        timed(() => sleep(shortTimes.commandTimeout)),
      ])
      t.equal(first.value, 'unavailable')
      t.ok(first.took <= 2 * step.took + 50, `${first.took} against ${step.took}`)
      await eventually(() => events.includes('slow'), 2 * shortTimes.commandTimeout + 1000)
      const lookups = Promise.all(Array.from({ length: 100 }, () => served(store)))
      t.same(new Set(await before(shortTimes.commandTimeout, lookups)), new Set(['unavailable']))
      await store.store(entry('not stored', { generation: '', epochs: [], fenced: false }))
      t.match(await store.acquireFetchLock('k', { generation: '', epochs: [], fenced: false }, 1000), { held: true })
      t.same(await store.list(), [])
    })
    await eventually(() => events.includes('reachable'))
    t.equal(await served(store), 'unavailable', 'other replicas get one lease to send their pending invalidations')
    await eventually(async () => (await served(store)) === 'stored')
  },
)

t.test('the local tier is served within the lease only', async (t) => {
  const { store } = await replica(t, server)
  await fill(store, 'local')
  await eventually(
    async () => (await store.lookup('k', ['cache', 'cache:agents', 'agent:001', 'agent:*'])).kind === 'hit',
  )
  await stalled(server, async () => {
    t.equal(await before(shortTimes.commandTimeout, served(store)), 'local')
    // The lease is the promise: the local tier must not be served when it has passed.
    await sleep(shortTimes.lease + 50)
    t.equal(await served(store), 'unavailable')
  })
})

const atRisk = { writesWithoutRedis: () => 'sendAndRiskStaleReads' as const }

t.test('a write at risk waits until local tiers expire, and is announced when Redis returns', async (t) => {
  const [writer, reader] = [await replica(t, server, atRisk), await replica(t, server)]
  await fill(writer.store, 'old')
  t.equal(await served(reader.store), 'old')
  server.pause()
  const { value: fence, took } = await timed(() => writer.store.fence(['agent:001']))
  t.equal(fence.state, 'localOnly')
  t.ok(took >= shortTimes.lease, `${took}`)
  t.equal(await served(reader.store), 'unavailable', 'the local tier has expired')
  t.equal(await fence.lift(['agent:*']), true)
  t.equal(writer.events.filter((event) => event === 'unfencedWrite').length, 2)
  server.resume()
  await eventually(() => writer.events.includes('replayed') && reader.events.includes('reachable'))
  for (const { store } of [writer, reader]) {
    await eventually(async () => (await served(store)) !== 'unavailable')
    t.match(await store.lookup('k', ['cache', 'cache:agents', 'agent:001', 'agent:*']), {
      kind: 'miss',
      changed: true,
      epochs: { fenced: false },
    })
  }
})

t.test('a fence that could not be set is set when Redis returns, if the write is still in progress', async (t) => {
  const [writer, reader] = [await replica(t, server, atRisk), await replica(t, server)]
  server.pause()
  const fence = await writer.store.fence(['agent:007'])
  server.resume()
  const fenced = async () => {
    const lookup = await reader.store.lookup('k7', ['agent:007'])
    return lookup.kind !== 'unavailable' && lookup.epochs.fenced
  }
  await eventually(fenced)
  await fence.lift([])
  t.equal(await fenced(), false)
})

t.test('a write whose fence Redis does not confirm within its time is refused, and its fence is removed', async (t) => {
  const { store, events } = await replica(t, server)
  await stalled(server, async () => {
    const fence = await before(shortTimes.lease * 2, store.fence(['agent:001'], shortTimes.lease))
    if (fence === 'late') throw new Error('the write waited for longer than two leases')
    t.equal(fence.state, 'refused')
    await fence.lift([])
  })
  await eventually(() => events.includes('reachable'))
  await eventually(async () => (await served(store)) !== 'unavailable')
  t.equal((await epochsOf(store)).fenced, false)
})

t.test('after a flush all replicas miss, and fences are set again', async (t) => {
  const [one, other] = [await replica(t, server), await replica(t, server)]
  await fill(one.store, 'before')
  t.equal(await served(other.store), 'before')
  const fence = await one.store.fence(['agent:002'])
  const before = await epochsOf(one.store)
  await server.client().flushall()
  await eventually(() => one.events.includes('localTierDiscarded') && other.events.includes('localTierDiscarded'))
  const lookups = await Promise.all([served(one.store), served(other.store)])
  t.same(lookups, ['unavailable', 'unavailable'], 'replicas get one lease to set their fences again')
  for (const { store } of [one, other]) await eventually(async () => (await served(store)) === 'miss')
  t.not((await epochsOf(other.store)).generation, before.generation)
  await eventually(async () => (await epochsOf(other.store, 'k2', ['agent:002'])).fenced)
  await one.store.store(entry('of the generation before', before))
  t.equal(await served(one.store), 'miss')
  await fence.lift([])
  await fill(other.store, 'after')
  t.equal(await served(one.store), 'after')
})

t.test('a restart of Redis changes the generation', async (t) => {
  const { store } = await replica(t, server)
  const before = await epochsOf(store)
  await fill(store, 'before')
  await server.restart()
  await eventually(async () => (await served(store)) === 'miss')
  t.not((await epochsOf(store)).generation, before.generation)
  await fill(store, 'after')
  t.equal(await served(store), 'after')
})

t.test('without Redis at the start, lookups are unavailable until it is reachable', async (t) => {
  const later = await startRedis()
  t.teardown(() => later.close())
  await later.kill()
  const { store } = await replica(t, later, { times: { bulkTimeout: 100 } })
  t.equal(await served(store), 'unavailable')
  await later.restart()
  await eventually(async () => (await served(store)) === 'miss')
})

t.test('a refused fence whose write was sent after all is set when Redis returns', async (t) => {
  const { store } = await replica(t, server)
  await stalled(server, async () => {
    const fence = await store.fence(['agent:009'], 100)
    t.equal(fence.state, 'refused')
    fence.keepUntilLeaseEnds()
  })
  await eventually(async () => {
    const lookup = await store.lookup('k9', ['agent:009'])
    return lookup.kind !== 'unavailable' && lookup.epochs.fenced
  })
})

t.test('a tag with half a surrogate pair is invalidated like any other', async (t) => {
  const [writer, reader] = [await replica(t, server), await replica(t, server)]
  const fence = await writer.store.fence(['agent:\ud800'])
  t.equal(fence.state, 'active')
  await fence.lift(['agent:\udfff\u0000'])
  await fill(writer.store, 'stored')
  for (const { store, events } of [writer, reader]) {
    t.equal(await served(store), 'stored')
    t.notOk(events.includes('unreachable'))
  }
})

t.test('a purge is pending while Redis is stalled, and takes effect when Redis is back', async (t) => {
  const { store } = await replica(t, server)
  await fill(store, 'purged later')
  await stalled(server, async () => {
    t.equal(await store.purge({ tag: 'agent:001' }), 'pending')
    t.equal(await served(store), 'unavailable')
  })
  await eventually(async () => (await served(store)) === 'miss')
})
