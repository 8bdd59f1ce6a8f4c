/** The calls per minute to a node are counted by all replicas together: real replicas and a real Redis. */
import t, { type Test } from 'tap'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { SharedCounters } from '../../../src/replicas/shared-counters.ts'
import { SharedPermits } from '../../../src/upstream/shared-permits.ts'
import { eventually } from '../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../support/redis.ts'

const NODE = 'master'
const LIMIT = 60
/** So long that Redis counts as reachable however busy the machine is. */
const COMMAND_TIMEOUT_MS = 20_000

interface Stage {
  readonly redis: RedisServer
  readonly replicas: readonly RedisReplica[]
  readonly leases: readonly SharedPermits[]
}

function permitsOf(replica: RedisReplica): SharedPermits {
  return new SharedPermits({ counters: new SharedCounters(replica), node: NODE, limit: () => LIMIT })
}

async function startReplicas(t: Test, count: number, commandTimeout = COMMAND_TIMEOUT_MS): Promise<Stage> {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const replicas: RedisReplica[] = []
  const leases: SharedPermits[] = []
  for (let each = 0; each < count; each += 1) {
    const replica = new RedisReplica({ redis: { url: redis.url }, times: { commandTimeout, heartbeatInterval: 100 } })
    leases.push(permitsOf(replica))
    await replica.start()
    t.teardown(() => replica.close())
    replicas.push(replica)
  }
  await eventually(() => replicas.every(({ heartbeat }) => heartbeat.replicas === count))
  return { redis, replicas, leases }
}

/** All replicas take permits in turns of different sizes until none gets one. Returns the permits of each. */
async function takeAll(leases: readonly SharedPermits[], wanted = { read: 0, reserved: 3 }): Promise<number[]> {
  return Promise.all(
    leases.map(async (lease) => {
      let taken = 0
      for (;;) {
        const { read, reserved } = await lease.permit(wanted)
        if (read + reserved === 0) return taken
        taken += read + reserved
      }
    }),
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

for (const count of [1, 2, 4]) {
  t.test(`${count} replicas that take permits at once get exactly the limit together`, async (t) => {
    const { leases } = await startReplicas(t, count)
    t.equal(sum(await takeAll(leases)), LIMIT)
    for (const lease of leases) {
      t.equal(lease.state.used, LIMIT)
      t.equal(lease.idle, 0)
      t.ok(lease.waitFor('reserved', 1) > 50_000)
    }
  })
}

t.test('reads of all replicas leave the reserve to writes', async (t) => {
  const { leases } = await startReplicas(t, 2)
  const reads = sum(await takeAll(leases, { read: 2, reserved: 0 }))
  t.ok(reads <= LIMIT - 15, `${reads} reads`)
  t.ok(sum(await takeAll(leases)) >= 15)
})

t.test('a replica that starts later counts the calls of the others', async (t) => {
  const { redis, leases } = await startReplicas(t, 1)
  await takeAll(leases)
  const replica = new RedisReplica({ redis: { url: redis.url }, times: { commandTimeout: COMMAND_TIMEOUT_MS } })
  const late = permitsOf(replica)
  await replica.start()
  t.teardown(() => replica.close())
  t.same(await late.permit({ read: 1, reserved: 1 }), { read: 0, reserved: 0 })
})

t.test('while Redis is unreachable, the replicas share what is left', async (t) => {
  const { redis, leases, replicas } = await startReplicas(t, 3, 1_000)
  const [busy] = leases
  for (let each = 0; each < 24; each += 1) await busy?.permit({ read: 0, reserved: 1 })
  // Idle replicas read the count with their heartbeats.
  await eventually(() => leases.every(({ state }) => state.used === 24))
  await redis.kill()
  await eventually(() => replicas.every(({ contact }) => contact.lostAt !== undefined))
  const shares = await takeAll(leases, { read: 0, reserved: 1 })
  t.same(shares, [12, 12, 12], 'a third of the 36 that are left')
})

t.test('after Redis lost the count, the calls of the last minute still count', async (t) => {
  const { redis, leases, replicas } = await startReplicas(t, 2, 1_000)
  const first = sum(await takeAll(leases.slice(0, 1)))
  await redis.restart()
  await eventually(() => replicas.every(({ contact }) => contact.isTrusted))
  await eventually(() => leases.every(({ state }) => state.used >= LIMIT))
  t.equal(first + sum(await takeAll(leases)), LIMIT)
})

t.test('calls that were sent without Redis count as soon as it is reachable again', async (t) => {
  const { redis, leases, replicas } = await startReplicas(t, 2, 1_000)
  await redis.kill()
  await eventually(() => replicas.every(({ contact }) => contact.lostAt !== undefined))
  const alone = sum(await takeAll(leases, { read: 0, reserved: 1 }))
  await redis.restart()
  await eventually(() => replicas.every(({ contact }) => contact.isTrusted))
  await eventually(() => leases.every(({ state }) => state.used >= alone))
  t.equal(alone + sum(await takeAll(leases)), LIMIT)
})

t.test('a limit that the node reports as reached holds for all replicas', async (t) => {
  const { leases } = await startReplicas(t, 2)
  const [first, second] = leases
  await first?.permit({ read: 1, reserved: 0 })
  first?.recordRefusal()
  await eventually(async () => (await second?.permit({ read: 0, reserved: 1 }))?.reserved === 0)
  t.ok((second?.waitFor('read', 2) ?? 0) > 50_000)
  second?.recordAnswer(0)
  await eventually(async () => (await first?.permit({ read: 0, reserved: 1 }))?.reserved === 1)
})
