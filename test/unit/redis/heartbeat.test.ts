import t, { type Test } from 'tap'
import { connect, Link } from '../../../src/redis/connection.ts'
import { Pulse } from '../../../src/redis/heartbeat.ts'
import { defaultTimes, names } from '../../../src/redis/options.ts'
import { gate, SetClock } from '../../support/asks.ts'
import { startRedis } from '../../support/redis.ts'
import { eventually } from '../cache/stores/replicas.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

const LEASE = 600
const times = { ...defaultTimes, lease: LEASE, heartbeat: 20, probe: 20, command: 2000, stuck: 60_000 }

/** A pulse over a real Redis, by a clock that is set; `back` counts heartbeats that came back over the subscriber. */
async function pulsing(t: Test, restore: () => Promise<boolean>) {
  const clock = new SetClock()
  const link = new Link(connect({ url: redis.url }, times))
  const replica = `replica-of-${t.name.replaceAll(/\W/g, '-')}`
  const quiet = () => {}
  const heard = { onEvent: quiet, onLostMemory: quiet, onSilence: quiet }
  const pulse = new Pulse({ link, replica, times, elapsed: clock.read, restore, ...heard })
  const subscriber = redis.client()
  const back = { count: 0 }
  subscriber.on('message', (_, text: string) => {
    pulse.returned(JSON.parse(text).n)
    back.count += 1
  })
  await subscriber.subscribe(names.to(replica))
  await link.connected(times.slow)
  await pulse.start()
  t.teardown(async () => {
    await pulse.close()
    link.close()
  })
  return { clock, pulse, back }
}

t.test('a heartbeat that was sent into an outage gives no lease', async (t) => {
  const { opened, open } = gate()
  let owed: Promise<void> = Promise.resolve()
  const { clock, pulse, back } = await pulsing(t, async () => {
    await owed
    return true
  })
  await eventually(() => pulse.leased())
  owed = opened
  pulse.distrust()
  // The old lease is over, so that any other would show.
  clock.pass(LEASE + 1)
  const before = back.count
  await eventually(() => back.count > before)
  t.equal(pulse.leased(), false, 'what others wrote meanwhile may not be written down yet')
  open()
  await eventually(() => pulse.lostAt === undefined)
  t.equal(pulse.trusted, false, 'they have a lease to do so')
  clock.pass(LEASE)
  t.equal(pulse.trusted, true)
  await eventually(() => pulse.leased())
})

t.test('what comes to be owed while the rest is written is written too before Redis is trusted', async (t) => {
  const { opened, open } = gate()
  let restored = 0
  const { clock, pulse } = await pulsing(t, async () => {
    restored += 1
    if (restored === 2) await opened
    return true
  })
  pulse.distrust()
  await eventually(() => restored === 2)
  pulse.distrust()
  open()
  await eventually(() => pulse.lostAt === undefined)
  t.equal(restored, 3)
  clock.pass(LEASE)
  t.equal(pulse.trusted, true)
})
