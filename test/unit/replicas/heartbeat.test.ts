import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { createLatch, ManualClock } from '../../support/edge-requests.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

const LEASE = 600
const times = { lease: LEASE, heartbeatInterval: 20, retryInterval: 20, commandTimeout: 2000, socketTimeout: 60_000 }

/** A replica over a real Redis with a clock that the test sets. `returned` counts heartbeats that came back. */
async function startReplica(t: Test, restore: () => Promise<boolean> = async () => true) {
  const clock = new ManualClock()
  const replica = new RedisReplica({ redis: { url: redis.url }, times, elapsed: clock.read })
  const returned = { count: 0 }
  replica.subscribe(`edge:{e}:to:${replica.id}`, () => {
    returned.count += 1
  })
  replica.contact.recoverWith({ restore, onGenerationChange: () => {} })
  t.teardown(() => replica.close())
  await replica.start()
  return { clock, contact: replica.contact, heartbeat: replica.heartbeat, replica, returned }
}

t.test('a heartbeat that was sent during an outage gives no lease', async (t) => {
  const { opened, open } = createLatch()
  let restored: Promise<void> = Promise.resolve()
  const { clock, contact, heartbeat, returned } = await startReplica(t, async () => {
    await restored
    return true
  })
  await eventually(() => heartbeat.hasLease())
  restored = opened
  contact.distrust()
  // The old lease has expired, so a new one would show.
  clock.advance(LEASE + 1)
  const before = returned.count
  await eventually(() => returned.count > before)
  t.equal(heartbeat.hasLease(), false, 'other replicas may not have sent their invalidations yet')
  open()
  await eventually(() => contact.lostAt === undefined)
  t.equal(contact.isTrusted, false, 'they have a lease to do so')
  clock.advance(LEASE)
  t.equal(contact.isTrusted, true)
  await eventually(() => heartbeat.hasLease())
})

t.test('what becomes pending while pending invalidations are sent is sent before Redis is trusted', async (t) => {
  const { opened, open } = createLatch()
  let restored = 0
  const { clock, contact } = await startReplica(t, async () => {
    restored += 1
    if (restored === 2) await opened
    return true
  })
  contact.distrust()
  await eventually(() => restored === 2)
  contact.distrust()
  open()
  await eventually(() => contact.lostAt === undefined)
  t.equal(restored, 3)
  clock.advance(LEASE)
  t.equal(contact.isTrusted, true)
})

t.test('a command that fails while a replica ends does not register it again', async (t) => {
  const { heartbeat, replica } = await startReplica(t)
  await eventually(() => heartbeat.hasLease())
  const closing = heartbeat.close()
  heartbeat.confirm()
  heartbeat.sendNow()
  await closing
  await nextTurn()
  // On the same connection: Redis has run every heartbeat before it.
  const reply = await replica.commands.send(1000, (client) => client.hget('edge:{e}', 'r'))
  t.match(reply, { ok: true })
  t.notMatch(reply, { value: new RegExp(replica.id) })
})
