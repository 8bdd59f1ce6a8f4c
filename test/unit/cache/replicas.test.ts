import t from 'tap'
import { createMemoryStore, type MemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import {
  bodyOf,
  cacheStatusOf,
  createLatch,
  edgeRequest,
  FakeNodes,
  ManualClock,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

const one = () => edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })

/** Several replicas with the same store and the same nodes. */
function replicas(count: number) {
  const clock = new ManualClock()
  const store = createMemoryStore({ bytes: () => 1 << 20, elapsed: clock.read })
  const nodes = new FakeNodes()
  const each = Array.from({ length: count }, () => {
    const { cache } = replica({ store, clock: clock.read })
    return { read: cache.readThrough(nodes.handler), write: cache.invalidate(nodes.handler) }
  })
  return { clock, store, nodes, each }
}

t.test('identical misses through several replicas are one call', async (t) => {
  const { nodes, each } = replicas(3)
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    await opened
    return success(call)
  }
  const all = Array.from({ length: 300 }, (_, at) => each[at % 3]?.read(one()))
  await settle()
  open()
  for (const response of await Promise.all(all)) {
    t.equal(response && bodyOf(response).data, 1)
    t.type(
      response && cacheStatusOf(response)?.ttl,
      'number',
      'also one that another replica has stored is a cached response',
    )
  }
  t.equal(nodes.calls, 1)
})

t.test(
  'a refresh through several replicas is one call, also if it takes longer than the stored response is old',
  async (t) => {
    const { clock, nodes, each } = replicas(2)
    await each[0]?.read(one())
    clock.advance(1500)
    const { opened, open } = createLatch()
    nodes.respond = async (_, call) => {
      await opened
      return success(call)
    }
    for (const { read } of each) t.match(cacheStatusOf(await read(one())), { detail: 'stale-while-revalidate' })
    await settle()
    clock.advance(5000)
    open()
    await settle()
    t.equal(nodes.calls, 2)
    for (const { read } of each) t.match(cacheStatusOf(await read(one())), { hit: true, ttl: 1000 })
  },
)

t.test('if the holder of the fetch lock fails, the next replica fetches', async (t) => {
  const { nodes, each } = replicas(3)
  nodes.respond = async (_, call) => {
    await settle()
    if (call === 1) throw new EdgeError(922)
    return success(call)
  }
  const outcomes = await Promise.allSettled(each.map(({ read }) => read(one())))
  t.strictSame(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'fulfilled', 'rejected'])
  t.equal(nodes.calls, 2)
})

t.test('after three fetch locks without a stored response, a replica fetches without a lock', async (t) => {
  const memory = createMemoryStore({ bytes: () => 1 << 20 })
  const store: MemoryStore = { ...memory, acquireFetchLock: async () => ({ held: false, settled: Promise.resolve() }) }
  const { read, nodes } = replica({ store })
  t.equal(bodyOf(await read(one())).data, 1)
  t.equal(nodes.calls, 1)
})

t.test('a client can disconnect while its replica waits for a fetch lock', async (t) => {
  const memory = createMemoryStore({ bytes: () => 1 << 20 })
  const store: MemoryStore = {
    ...memory,
    acquireFetchLock: async () => ({ held: false, settled: new Promise(() => {}) }),
  }
  const { read } = replica({ store })
  const leaving = new AbortController()
  const waiting = read({ ...one(), client: leaving })
  await settle()
  leaving.abort(new Error('left'))
  await t.rejects(async () => waiting, { message: 'left' })
})

t.test('a write through one replica invalidates for all replicas', async (t) => {
  const { nodes, each } = replicas(2)
  const [first, second] = each
  await first?.read(one())
  const hit = await second?.read(one())
  t.match(hit && cacheStatusOf(hit), { hit: true })
  await first?.write(edgeRequest('PUT /agents/:agent_id/restart', { params: { agent_id: '001' } }))
  const miss = await second?.read(one())
  t.match(miss && cacheStatusOf(miss), { fwd: 'uri-miss' })
  t.equal(nodes.calls, 3)
})
