/** The limit of one node over two replicas that share a Redis, with real calls. */
import type { ServerResponse } from 'node:http'
import t, { type Test } from 'tap'
import { redisKeys } from '../../../src/replicas/options.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { createSharedSlots } from '../../../src/replicas/shared-slots.ts'
import type { Cluster } from '../../../src/upstream/index.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { clusterOf, envelope, fakeNode, get, limits } from './fake-node.ts'

const redis = await startRedis()
t.teardown(() => redis.close())
/** On a busy machine Redis must not count as unreachable. */
const times = { commandTimeout: 20_000, heartbeatInterval: 50 }

/** Two replicas in front of a node that responds on demand. */
async function startTwo(t: Test, inFlight = 4, clock = () => performance.now()) {
  await redis.client().flushall()
  // As after a lease: a new state grants shares only, because it may replace one that was lost.
  await redis.client().set(redisKeys.slots('master'), '0 0;')
  const waiting: ServerResponse[] = []
  const node = await fakeNode(t, (_, response) => {
    waiting.push(response)
    response.on('close', () => waiting.includes(response) && waiting.splice(waiting.indexOf(response), 1))
  })
  const setting = { ...limits, inFlight }
  const start = async (): Promise<Cluster> => {
    const replica = new RedisReplica({ redis: { url: redis.url }, times })
    const cluster = clusterOf(t, node.url, { limits: setting, slots: createSharedSlots(replica), clock })
    t.teardown(async () => {
      await cluster.close()
      await replica.close()
    })
    await replica.start()
    await eventually(() => replica.contact.isTrusted)
    return cluster
  }
  const [one, other] = await Promise.all([start(), start()])
  const respond = () => {
    const response = waiting.shift()
    if (response) envelope(response.req, response)
  }
  return { node, one, other, waiting, respond }
}

const call = (cluster: Cluster, count: number, overrides: Parameters<typeof get>[1] = {}) =>
  Array.from({ length: count }, () => cluster.call(get('/agents', overrides)))
const stateOf = (cluster: Cluster) => cluster.status()[0]

t.test('calls of two replicas together keep to the limit of the node', async (t) => {
  const { one, other, waiting, respond } = await startTwo(t)
  const calls = [...call(one, 10), ...call(other, 10)]
  await eventually(() => waiting.length === 4)
  t.equal((stateOf(one)?.inFlight ?? 0) + (stateOf(other)?.inFlight ?? 0), 4)
  let most = 0
  for (let done = 0; done < 20; done += 1) {
    await eventually(() => waiting.length > 0)
    most = Math.max(most, waiting.length)
    respond()
  }
  for (const { ok } of await Promise.all(calls)) t.ok(ok)
  t.equal(most, 4)
})

t.test('bulk calls have all slots, until another replica has its own call', async (t) => {
  const { one, other, waiting, respond } = await startTwo(t)
  const bulk = { priority: 'bulk' as const, timeout: 60_000 }
  void call(one, 20, bulk)
  await eventually(() => waiting.length === 4)
  void call(other, 2, { method: 'PUT', priority: 'write', retryable: false, timeout: 60_000 })
  await eventually(() => stateOf(other)?.queue === 2)
  const writes = () => waiting.filter(({ req }) => req.method === 'PUT').length
  await eventually(() => {
    if (waiting.length === 4 && writes() < 2) respond()
    return writes() === 2
  })
  t.ok(waiting.length <= 4, `${waiting.length}`)
})

t.test('free slots are those that no replica uses', async (t) => {
  const { one, other, waiting } = await startTwo(t)
  t.equal(other.view.freeSlots('master'), 4)
  void call(one, 3)
  await eventually(() => waiting.length === 3)
  await eventually(() => other.view.freeSlots('master') === 1)
  t.equal(one.view.freeSlots('master'), 1)
  void call(one, 5)
  await eventually(() => other.view.freeSlots('master') === 0)
})

t.test('a call with little time is sent if another replica leaves a slot, and rejected if none does', async (t) => {
  let now = 0
  const { one, other, waiting, respond } = await startTwo(t, 1, () => now)
  const slow = call(other, 1)
  await eventually(() => waiting.length === 1)
  now += 4_000
  respond()
  await Promise.all(slow)
  await eventually(() => stateOf(other)?.slots === 0)
  // The other replica has measured 4 s and has no slot, but the node is idle.
  const short = call(other, 1, { timeout: 7_000 })
  await eventually(() => waiting.length === 1)
  now += 4_000
  respond()
  t.match(await short[0], { ok: true })
  await eventually(() => stateOf(other)?.slots === 0)
  const long = call(one, 1, { timeout: 60_000 })
  await eventually(() => waiting.length === 1 && other.view.freeSlots('master') === 0)
  const rejected = await call(other, 1, { timeout: 7_000 })[0]
  t.match(rejected, { ok: false, fault: 'overloaded', reason: 'waitTooLong' })
  respond()
  await Promise.all(long)
})

t.test('a node that is removed, and an edge that stops, return their slots', async (t) => {
  const { node, one, other, waiting, respond } = await startTwo(t)
  const last = call(one, 4, { timeout: 60_000 })
  await eventually(() => waiting.length === 4)
  one.prepare({ nodes: [{ name: 'other', type: 'master', url: node.url }] })()
  const next = call(other, 4, { timeout: 60_000 })
  for (let done = 0; done < 4; done += 1) respond()
  await Promise.all(last)
  await eventually(() => waiting.length === 4)
  t.equal(stateOf(other)?.slots, 4)
  for (let done = 0; done < 4; done += 1) respond()
  await Promise.all(next)
  await other.close()
  t.match(await redis.client().get(redisKeys.slots('master')), /^\d+ \d+;$/, 'no holder is left')
})
