import t, { type Test } from 'tap'
import { type RedisTimes, redisKeys } from '../../../src/replicas/options.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { HEARTBEAT_MS, NODE, type NodeLoad, type SlotReplica, startSlotReplica } from './slot-replica.ts'

const LIMIT = 4
/** Longer than the test. */
const WITHOUT_HEARTBEATS = { lease: 600_000, heartbeatInterval: 300_000 }
/** A call that lasts as long as the test. */
const endless = () => 3_600_000

async function startReplicas(t: Test, count: number, limit = () => LIMIT, times: Partial<RedisTimes> = {}) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  // As after a lease: a new state grants shares only, because it may replace one that was lost.
  await redis.client().set(redisKeys.slots(NODE), '0 0;')
  const load: NodeLoad = { inFlight: 0, most: 0 }
  const add = async (): Promise<SlotReplica> => {
    const added = await startSlotReplica({ url: redis.url, limit, load, times })
    t.teardown(() => added.close())
    return added
  }
  const replicas = await Promise.all(Array.from({ length: count }, add))
  return { redis, load, replicas, add }
}

for (const count of [1, 2, 4, 8]) {
  t.test(`${count} busy replicas use the whole limit, never more, and none starves`, async (t) => {
    const { load, replicas } = await startReplicas(t, count)
    for (const each of replicas) each.call(200, () => 1 + Math.random() * 10)
    await eventually(() => replicas.every(({ finished }) => finished >= 30))
    t.ok(load.most <= LIMIT, `${load.most}`)
  })
}

t.test('one busy replica has the whole limit, although three others run', async (t) => {
  const { load, replicas } = await startReplicas(t, 4)
  replicas[0]?.call(10, endless)
  await eventually(() => load.inFlight === LIMIT)
  t.equal(replicas[0]?.inFlight, LIMIT)
})

t.test('a replica that begins to call gets half of the slots of a busy one', async (t) => {
  const { load, replicas } = await startReplicas(t, 2)
  const [busy, late] = replicas
  busy?.call(100_000, () => 5)
  await eventually(() => busy?.inFlight === LIMIT)
  late?.call(100_000, () => 5)
  await eventually(() => late?.inFlight === LIMIT / 2 && busy?.inFlight === LIMIT / 2)
  t.ok(load.most <= LIMIT, `${load.most}`)
})

t.test('unused slots go to a waiting replica at once, not with the next heartbeat', async (t) => {
  const { replicas } = await startReplicas(t, 2, () => LIMIT, WITHOUT_HEARTBEATS)
  const [busy, late] = replicas
  busy?.call(LIMIT, () => 1)
  await eventually(() => busy?.finished === LIMIT)
  t.equal(busy?.lease.usable, LIMIT, 'kept for the next calls')
  late?.call(LIMIT, endless)
  await eventually(() => late?.inFlight === LIMIT)
  t.equal(busy?.lease.usable, 0)
})

t.test('unused slots are returned with the next heartbeats', async (t) => {
  const { replicas, redis } = await startReplicas(t, 1)
  replicas[0]?.call(LIMIT, () => 1)
  await eventually(() => replicas[0]?.finished === LIMIT)
  await eventually(() => replicas[0]?.lease.usable === 0)
  t.match(await redis.client().get(redisKeys.slots(NODE)), /^\d+ \d+;$/, 'no holder is left')
})

t.test('a busy replica does not ask Redis for each call', async (t) => {
  const { replicas, redis } = await startReplicas(t, 1)
  const steps = async () => Number(/cmdstat_set:calls=(\d+)/.exec(await redis.client().info('commandstats'))?.[1] ?? 0)
  const [before, began] = [await steps(), performance.now()]
  replicas[0]?.call(400, () => 1)
  await eventually(() => replicas[0]?.finished === 400)
  const heartbeats = (performance.now() - began) / HEARTBEAT_MS
  t.ok((await steps()) - before <= 2 * heartbeats + 5, `${(await steps()) - before} steps for 400 calls`)
})

t.test('the slots of a killed replica are free after its lease', async (t) => {
  const { load, replicas } = await startReplicas(t, 2)
  const [killed, other] = replicas
  killed?.call(LIMIT, endless)
  await eventually(() => killed?.inFlight === LIMIT)
  other?.call(LIMIT, endless)
  killed?.kill()
  await eventually(() => other?.inFlight === LIMIT)
  t.ok(load.most <= LIMIT)
})

t.test('a replica that stops returns its slots at once', async (t) => {
  const { replicas } = await startReplicas(t, 2, () => LIMIT, WITHOUT_HEARTBEATS)
  const [stopped, other] = replicas
  stopped?.call(LIMIT, endless)
  await eventually(() => stopped?.inFlight === LIMIT)
  other?.call(LIMIT, endless)
  await stopped?.lease.close(0)
  await eventually(() => other?.inFlight === LIMIT)
})

t.test('replicas that start, stop and die at random never exceed the limit', async (t) => {
  const { load, replicas, add } = await startReplicas(t, 3)
  const alive = [...replicas]
  for (let round = 0; round < 12; round += 1) {
    for (const each of alive) each.call(Math.ceil(Math.random() * 12), () => Math.random() * 12)
    const dying = alive.splice(Math.floor(Math.random() * alive.length), 1)[0]
    if (round % 2 === 0) dying?.kill()
    else {
      // As at a graceful shutdown: calls end before the slots are returned.
      const { finished = 0, inFlight = 0 } = dying ?? {}
      await eventually(() => (dying?.finished ?? 0) >= finished + inFlight && dying?.inFlight === 0)
      await dying?.lease.close(0)
    }
    alive.push(await add())
  }
  const finished = alive.map((each) => each.finished)
  for (const each of alive) each.call(5, () => 1)
  await eventually(() => alive.every((each, at) => each.finished >= (finished[at] ?? 0) + 5))
  t.ok(load.most <= LIMIT, `${load.most}`)
})

t.test('a lower limit takes effect while all replicas are busy, a higher one too', async (t) => {
  let limit = LIMIT
  const { load, replicas } = await startReplicas(t, 2, () => limit)
  for (const each of replicas) each.call(1_000_000, () => 5)
  await eventually(() => load.inFlight === LIMIT)
  limit = 2
  await eventually(() => load.inFlight === 2)
  load.most = 0
  const finished = replicas.map((each) => each.finished)
  await eventually(() => replicas.every((each, at) => each.finished >= (finished[at] ?? 0) + 20))
  t.equal(load.most, 2)
  limit = 6
  await eventually(() => load.inFlight === 6)
})
