/** A hit is repeated without validation and pipeline only as long as the same request would be the same hit. */
import t from 'tap'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import type { EdgeRead } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { cacheStatusOf, edgeRequest, replica } from '../../support/edge-requests.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { replica as redisReplica } from './stores/replicas.ts'

const one = edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })
const restart = edgeRequest('PUT /agents/:agent_id/restart', { params: { agent_id: '001' } })

function repeatFrom(response: EdgeResponse) {
  return response.kind === 'envelope' && response.origin.kind === 'stored' ? response.origin.repeat : undefined
}

/** Reads twice and returns the function that repeats the second response, a hit. */
async function repeatOf({ read }: Pick<ReturnType<typeof replica>, 'read'>, request: EdgeRead = one) {
  await read(request)
  const hit = await read(request)
  const repeat = repeatFrom(hit)
  if (repeat === undefined) throw new Error('the hit cannot be repeated')
  return repeat
}

t.test('a hit is repeated with its age then, and without a call', async (t) => {
  const one = replica()
  const repeat = await repeatOf(one)
  one.clock.advance(300)
  const again = repeat()
  t.strictSame(again && cacheStatusOf(again), { hit: true, ttl: 700 })
  t.equal(again?.origin.age, 300)
  t.equal(one.nodes.calls, 1)
})

t.test('it is not repeated after a write', async (t) => {
  const one = replica()
  const repeat = await repeatOf(one)
  await one.write(restart)
  t.equal(repeat(), undefined)
})

t.test('nor while a write is in progress', async (t) => {
  const one = replica()
  const repeat = await repeatOf(one)
  one.nodes.respond = async () => {
    t.equal(repeat(), undefined)
    throw new Error('the node is gone')
  }
  await t.rejects(async () => one.write(restart))
  t.equal(repeat(), undefined, 'nor afterwards: its outcome is unknown')
})

t.test('nor after a purge', async (t) => {
  for (const soft of [false, true]) {
    const store = createMemoryStore({ bytes: () => 1 << 20 })
    const repeat = await repeatOf(replica({ store }))
    await store.purge({ group: 'agents', soft })
    t.equal(repeat(), undefined, soft ? 'that marks as stale' : 'that removes')
  }
})

t.test('nor when it has expired', async (t) => {
  const one = replica()
  const repeat = await repeatOf(one)
  one.clock.advance(1001)
  t.equal(repeat(), undefined)
})

t.test('nor with other settings or another master', async (t) => {
  let key = { secret: 'secret', policy: '1' }
  let master = 'm'
  const one = replica({ key: () => key, nodes: () => [{ name: master }] })
  const repeat = await repeatOf(one)
  t.ok(repeat())
  master = 'w'
  t.equal(repeat(), undefined)
  master = 'm'
  const again = await repeatOf(one)
  t.ok(again())
  key = { ...key, policy: '2' }
  t.equal(again(), undefined)
})

t.test('a response that depends on its caller is never repeated for others', async (t) => {
  const one = replica({ key: () => perUser })
  await one.read(edgeRequest('GET /agents'))
  const hit = await one.read(edgeRequest('GET /agents'))
  t.match(cacheStatusOf(hit), { hit: true })
  t.equal(repeatFrom(hit), undefined)
})

const perUser = { secret: 'secret', policy: '1', perUser: true }

t.test('it is not repeated after the lease of the local tier has ended', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { store } = await redisReplica(t, redis)
  const one = replica({ store })
  const repeat = await repeatOf(one)
  t.ok(repeat())
  redis.pause()
  await eventually(() => repeat() === undefined)
  t.equal(one.nodes.calls, 1)
})
