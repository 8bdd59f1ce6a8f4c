import t, { type Test } from 'tap'
import { type RedisServer, startRedis } from '../../../support/redis.ts'
import type { OpenStoreOptions } from '../../../support/redis-store.ts'
import { entry, fill, markOf, served } from './contract.ts'
import { replica as anyReplica, eventually, shortTimes as longer, sleep } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())

/** A step is short here: how soon it is given up is what is held. */
const shortTimes = { ...longer, commandTimeout: 80, socketTimeout: 500 }
const replica = (t: Test, redis: RedisServer, { times, ...more }: Partial<OpenStoreOptions> = {}) =>
  anyReplica(t, redis, { ...more, times: { ...shortTimes, ...times } })

async function timed<Value>(run: () => Promise<Value>): Promise<{ value: Value; took: number }> {
  const begin = performance.now()
  const value = await run()
  return { value, took: performance.now() - begin }
}

/** Stops Redis for as long as `during` runs. */
async function stalled(redis: RedisServer, during: () => Promise<void>): Promise<void> {
  redis.pause()
  await during().finally(() => redis.resume())
}

t.test('a stalled Redis is a miss in the time of one step, then at once, and is used again later', async (t) => {
  const { store, events } = await replica(t, server, { localBytes: 0 })
  await fill(store, 'kept')
  await stalled(server, async () => {
    // The same machine at the same moment: a busy one is late with timers as well.
    const [first, step] = await Promise.all([timed(() => served(store)), timed(() => sleep(shortTimes.commandTimeout))])
    t.equal(first.value, 'unavailable')
    t.ok(first.took <= 2 * step.took + 50, `${first.took} against ${step.took}`)
    await eventually(() => events.includes('lost'), 2 * shortTimes.commandTimeout + 1000)
    const looks = await Promise.all(Array.from({ length: 100 }, () => timed(() => served(store))))
    t.ok(looks.every((look) => look.value === 'unavailable' && look.took < shortTimes.commandTimeout))
    await store.store(entry('not kept', { generation: '', epochs: [], fenced: false }))
    t.match(await store.acquireFetchLock('k', { generation: '', epochs: [], fenced: false }, 1000), { held: true })
    t.same(await store.list(), [])
  })
  await eventually(() => events.includes('returned'))
  t.equal(await served(store), 'unavailable', 'the others get a lease to write what they owe')
  await eventually(async () => (await served(store)) === 'kept')
})

t.test('near copies are served within the lease, not beyond it', async (t) => {
  const { store } = await replica(t, server)
  await fill(store, 'near')
  await eventually(
    async () => (await store.lookup('k', ['cache', 'cache:agents', 'agent:001', 'agent:*'])).kind === 'hit',
  )
  await stalled(server, async () => {
    const { value, took } = await timed(() => served(store))
    t.equal(value, 'near')
    t.ok(took < shortTimes.commandTimeout)
    await sleep(shortTimes.lease + 50)
    t.equal(await served(store), 'unavailable')
  })
})

t.test('a write that nobody can be told of waits for the near copies, and is told later', async (t) => {
  const [writer, reader] = [await replica(t, server), await replica(t, server)]
  await fill(writer.store, 'old')
  t.equal(await served(reader.store), 'old')
  server.pause()
  const { value: fence, took } = await timed(() => writer.store.fence(['agent:001']))
  t.equal(fence.state, 'localOnly')
  t.ok(took >= shortTimes.lease, `${took}`)
  t.equal(await served(reader.store), 'unavailable', 'no near copy outlives the wait')
  await fence.lift(['agent:*'])
  server.resume()
  await eventually(() => writer.events.includes('replayed') && reader.events.includes('returned'))
  for (const { store } of [writer, reader]) {
    await eventually(async () => (await served(store)) !== 'unavailable')
    t.match(await store.lookup('k', ['cache', 'cache:agents', 'agent:001', 'agent:*']), {
      kind: 'miss',
      changed: true,
      epochs: { fenced: false },
    })
  }
})

t.test('a fence that could not be set is set on return, while the write is under way', async (t) => {
  const [writer, reader] = [await replica(t, server), await replica(t, server)]
  server.pause()
  const fence = await writer.store.fence(['agent:007'])
  server.resume()
  const fenced = async () => {
    const look = await reader.store.lookup('k7', ['agent:007'])
    return look.kind !== 'unavailable' && look.epochs.fenced
  }
  await eventually(fenced)
  await fence.lift([])
  t.equal(await fenced(), false)
})

t.test('with onLostStore refuse, the write is refused soon', async (t) => {
  const { store, events } = await replica(t, server, { onLostStore: 'refuse' })
  await stalled(server, async () => {
    const { value, took } = await timed(() => store.fence(['agent:001']))
    t.equal(value.state, 'refused')
    t.ok(took < shortTimes.lease * 2)
    await value.lift([])
  })
  await eventually(() => events.includes('returned'))
  await eventually(async () => (await served(store)) !== 'unavailable')
  t.equal((await markOf(store)).fenced, false)
})

t.test('a flush is a miss for everybody, and fences stand again', async (t) => {
  const [one, other] = [await replica(t, server), await replica(t, server)]
  await fill(one.store, 'before')
  t.equal(await served(other.store), 'before')
  const fence = await one.store.fence(['agent:002'])
  const before = await markOf(one.store)
  await server.client().flushall()
  await eventually(() => one.events.includes('forgot') && other.events.includes('forgot'))
  const looks = await Promise.all([served(one.store), served(other.store)])
  t.same(looks, ['unavailable', 'unavailable'], 'who had set a fence gets a lease to set it again')
  for (const { store } of [one, other]) await eventually(async () => (await served(store)) === 'miss')
  t.not((await markOf(other.store)).generation, before.generation)
  await eventually(async () => (await markOf(other.store, 'k2', ['agent:002'])).fenced)
  await one.store.store(entry('of the generation before', before))
  t.equal(await served(one.store), 'miss')
  await fence.lift([])
  await fill(other.store, 'after')
  t.equal(await served(one.store), 'after')
})

t.test('a restart is another generation', async (t) => {
  const { store } = await replica(t, server)
  const before = await markOf(store)
  await fill(store, 'before')
  await server.restart()
  await eventually(async () => (await served(store)) === 'miss')
  t.not((await markOf(store)).generation, before.generation)
  await fill(store, 'after')
  t.equal(await served(store), 'after')
})

t.test('no Redis at the start: everything is a miss until it comes', async (t) => {
  const later = await startRedis()
  t.teardown(() => later.close())
  await later.kill()
  const { store } = await replica(t, later, { times: { commandTimeout: 50, bulkTimeout: 100 } })
  t.equal(await served(store), 'unavailable')
  await later.restart()
  await eventually(async () => (await served(store)) === 'miss')
})

t.test(
  'a fence that was refused, and left since something was sent after all, stands when Redis is back',
  async (t) => {
    const { store } = await replica(t, server, { onLostStore: 'refuse' })
    await stalled(server, async () => {
      const fence = await store.fence(['agent:009'])
      t.equal(fence.state, 'refused')
      fence.keepUntilLeaseEnds()
    })
    await eventually(async () => {
      const look = await store.lookup('k9', ['agent:009'])
      return look.kind !== 'unavailable' && look.epochs.fenced
    })
  },
)

t.test('a tag that is no text is raised all the same, and Redis is trusted on', async (t) => {
  const [writer, reader] = [await replica(t, server), await replica(t, server)]
  const fence = await writer.store.fence(['agent:\ud800'])
  t.equal(fence.state, 'active')
  await fence.lift(['agent:\udfff\u0000'])
  await fill(writer.store, 'kept')
  for (const { store, events } of [writer, reader]) {
    t.equal(await served(store), 'kept')
    t.notOk(events.includes('lost'))
  }
})
