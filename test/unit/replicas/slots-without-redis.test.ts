import t, { type Test } from 'tap'
import { type RedisTimes, redisKeys } from '../../../src/replicas/options.ts'
import { eventually } from '../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { NODE, type NodeLoad, startSlotReplica } from './slot-replica.ts'

const LIMIT = 4
const endless = () => 3_600_000

async function startReplicas(t: Test, count: number, changed: Partial<RedisTimes> = {}) {
  const times = { commandTimeout: 1000, ...changed }
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const load: NodeLoad = { inFlight: 0, most: 0 }
  const options = { url: redis.url, limit: () => LIMIT, load, times }
  const replicas = await Promise.all(Array.from({ length: count }, () => startSlotReplica(options)))
  t.teardown(() => Promise.all(replicas.map((each) => each.close())))
  await eventually(() => replicas.every(({ replica }) => replica.heartbeat.replicas === count))
  return { redis, load, replicas }
}

t.test('without Redis, each replica uses its share, at least one', async (t) => {
  for (const count of [2, 8]) {
    const { redis, load, replicas } = await startReplicas(t, count)
    await redis.kill()
    for (const each of replicas) each.call(10, endless)
    await eventually(() => load.inFlight === Math.max(LIMIT, count))
    t.same(new Set(replicas.map(({ inFlight }) => inFlight)), new Set([Math.max(1, LIMIT / count)]))
  }
})

t.test('calls that wait for a slot get their share when Redis is killed', async (t) => {
  const { redis, replicas } = await startReplicas(t, 2)
  await redis.client().set(redisKeys.slots(NODE), '0 0;')
  const [busy, waiting] = replicas
  busy?.call(10, endless)
  await eventually(() => busy?.inFlight === LIMIT)
  waiting?.call(10, endless)
  await redis.kill()
  await eventually(() => waiting?.inFlight === LIMIT / 2)
})

t.test('when Redis is killed, a replica adds one call at most to those that others have a lease for', async (t) => {
  const { redis, load, replicas } = await startReplicas(t, 2, { lease: 600_000 })
  await redis.client().set(redisKeys.slots(NODE), '0 0;')
  const [busy, waiting] = replicas
  busy?.call(10, endless)
  await eventually(() => busy?.inFlight === LIMIT)
  waiting?.call(10, endless)
  await eventually(() => waiting?.lease.available === 0)
  await redis.kill()
  await eventually(() => waiting?.inFlight === 1)
  await eventually(() => replicas.every(({ replica }) => replica.contact.lostAt !== undefined))
  t.equal(load.most, LIMIT + 1)
})

/** Redis is reachable, but each step over the slots of the node fails: the user may not use their key. */
async function breakSlots(redis: RedisServer): Promise<void> {
  await redis.client().acl('SETUSER', 'default', 'resetkeys', '~edge:{*')
}

t.test('while steps fail although Redis is reachable, a replica uses its share', async (t) => {
  const { redis, replicas } = await startReplicas(t, 2)
  await breakSlots(redis)
  replicas[0]?.call(10, endless)
  await eventually(() => replicas[0]?.inFlight === LIMIT / 2)
  t.ok(replicas[0]?.replica.contact.isTrusted)
})

t.test('while steps fail, a replica uses nothing of what another one has a lease for', async (t) => {
  const { redis, load, replicas } = await startReplicas(t, 2, { lease: 600_000 })
  await redis.client().set(redisKeys.slots(NODE), '0 0;')
  const [busy, waiting] = replicas
  busy?.call(10, endless)
  await eventually(() => busy?.inFlight === LIMIT)
  waiting?.call(10, endless)
  await eventually(() => waiting?.lease.available === 0)
  await breakSlots(redis)
  let beats = 0
  waiting?.replica.heartbeat.onBeat(() => {
    beats += 1
  })
  await eventually(() => beats > 3)
  t.equal(load.most, LIMIT)
})

t.test('a call waits for a slow Redis no longer than the command timeout', async (t) => {
  const { redis, replicas } = await startReplicas(t, 2, { commandTimeout: 50 })
  await eventually(() => replicas.every(({ replica }) => replica.contact.isTrusted))
  redis.pause()
  const began = performance.now()
  replicas[0]?.call(1, endless)
  await eventually(() => replicas[0]?.inFlight === 1)
  const waited = performance.now() - began
  redis.resume()
  t.ok(waited < 1000, `${waited} ms`)
})

t.test('when Redis is back without its data, replicas do not exceed the limit', async (t) => {
  const { redis, load, replicas } = await startReplicas(t, 4)
  for (const each of replicas) each.call(1_000_000, () => 5 + Math.random() * 5)
  await redis.kill()
  await eventually(() => replicas.every(({ replica }) => replica.contact.lostAt !== undefined))
  await eventually(() => load.inFlight === LIMIT)
  load.most = 0
  await redis.restart()
  await eventually(() => replicas.every(({ replica }) => replica.contact.isTrusted))
  const finished = replicas.map((each) => each.finished)
  await eventually(() => replicas.every((each, at) => each.finished >= (finished[at] ?? 0) + 50))
  t.ok(load.most <= LIMIT, `${load.most}`)
})

t.test('a flush of Redis does not let replicas exceed the limit', async (t) => {
  const { redis, load, replicas } = await startReplicas(t, 2)
  await redis.client().set(redisKeys.slots(NODE), '0 0;')
  const [busy, late] = replicas
  busy?.call(LIMIT, endless)
  await eventually(() => busy?.inFlight === LIMIT)
  await redis.client().flushall()
  late?.call(LIMIT, endless)
  // Redis may have forgotten the calls of the first replica until its next heartbeat. Then the second one has its share.
  await eventually(() => late?.lease.available === 0 || (late?.inFlight ?? 0) > 0)
  let beats = 0
  busy?.replica.heartbeat.onBeat(() => {
    beats += 1
  })
  await eventually(() => beats > 3)
  t.ok(load.most <= LIMIT + LIMIT / 2, `${load.most}`)
})
