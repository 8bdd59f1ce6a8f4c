import t, { type Test } from 'tap'
import { openClient, RedisConnection } from '../../../src/redis/connection.ts'
import { Heartbeat } from '../../../src/redis/heartbeat.ts'
import { DEFAULT_TIMES, redisChannels } from '../../../src/redis/options.ts'
import { createLatch, ManualClock } from '../../support/edge-requests.ts'
import { startRedis } from '../../support/redis.ts'
import { eventually } from '../cache/stores/replicas.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

const LEASE = 600
const times = {
  ...DEFAULT_TIMES,
  lease: LEASE,
  heartbeatInterval: 20,
  retryInterval: 20,
  commandTimeout: 2000,
  socketTimeout: 60_000,
}

/** A heartbeat over a real Redis, by a clock that is set; `back` counts heartbeats that came back over the subscriber. */
async function beating(t: Test, restore: () => Promise<boolean>) {
  const clock = new ManualClock()
  const connection = new RedisConnection(openClient({ url: redis.url }, times))
  const replica = `replica-of-${t.name.replaceAll(/\W/g, '-')}`
  const quiet = () => {}
  const heard = { onEvent: quiet, onGenerationChange: quiet, onSilence: quiet }
  const heartbeat = new Heartbeat({ connection, replica, times, elapsed: clock.read, restore, ...heard })
  const subscriber = redis.client()
  const back = { count: 0 }
  subscriber.on('message', (_, text: string) => {
    heartbeat.receive(JSON.parse(text).n)
    back.count += 1
  })
  await subscriber.subscribe(redisChannels.replica(replica))
  await connection.waitUntilReady(times.bulkTimeout)
  await heartbeat.start()
  t.teardown(async () => {
    await heartbeat.close()
    connection.close()
  })
  return { clock, heartbeat, back }
}

t.test('a heartbeat that was sent into an outage gives no lease', async (t) => {
  const { opened, open } = createLatch()
  let owed: Promise<void> = Promise.resolve()
  const { clock, heartbeat, back } = await beating(t, async () => {
    await owed
    return true
  })
  await eventually(() => heartbeat.hasLease())
  owed = opened
  heartbeat.distrust()
  // The old lease is over, so that any other would show.
  clock.advance(LEASE + 1)
  const before = back.count
  await eventually(() => back.count > before)
  t.equal(heartbeat.hasLease(), false, 'what others wrote meanwhile may not be written down yet')
  open()
  await eventually(() => heartbeat.lostAt === undefined)
  t.equal(heartbeat.isTrusted, false, 'they have a lease to do so')
  clock.advance(LEASE)
  t.equal(heartbeat.isTrusted, true)
  await eventually(() => heartbeat.hasLease())
})

t.test('what comes to be owed while the rest is written is written too before Redis is trusted', async (t) => {
  const { opened, open } = createLatch()
  let restored = 0
  const { clock, heartbeat } = await beating(t, async () => {
    restored += 1
    if (restored === 2) await opened
    return true
  })
  heartbeat.distrust()
  await eventually(() => restored === 2)
  heartbeat.distrust()
  open()
  await eventually(() => heartbeat.lostAt === undefined)
  t.equal(restored, 3)
  clock.advance(LEASE)
  t.equal(heartbeat.isTrusted, true)
})
