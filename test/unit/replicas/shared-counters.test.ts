/** Counters that real replicas change at once in a real Redis. */
import t, { type Test } from 'tap'
import { LoginAttempts } from '../../../src/access/login-attempts.ts'
import type { Counters } from '../../../src/core/counters.ts'
import { redisKeys } from '../../../src/replicas/options.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { SharedCounters } from '../../../src/replicas/shared-counters.ts'
import { startRedis } from '../../support/redis.ts'

const redis = await startRedis()
t.teardown(() => redis.close())
const MINUTE_MS = 60_000

async function join(t: Test) {
  const replica = new RedisReplica({ redis: { url: redis.url }, times: { commandTimeout: 20_000 } })
  t.teardown(() => replica.close())
  await replica.start()
  return { replica, counters: new SharedCounters(replica) }
}

function add(counters: Counters, ...names: readonly string[]): Promise<unknown> {
  return counters.update(names, (texts, { weight }) => {
    for (const name of names) texts.set(name, `${Number(texts.get(name)) + weight}`, MINUTE_MS)
  })
}

const stored = (name: string) => redis.client().get(redisKeys.access(name))

t.test('no change is lost when replicas change several counters at once', async (t) => {
  const joined = await Promise.all([join(t), join(t), join(t)])
  const changes = joined.flatMap(({ counters }, at) =>
    Array.from({ length: 100 }, () => add(counters, 'sum:all', `sum:${at}`)),
  )
  await Promise.all(changes)
  t.equal(await stored('sum:all'), '300')
  for (const at of joined.keys()) t.equal(await stored(`sum:${at}`), '100')
})

t.test('a replica whose clock is wrong counts by the clock of Redis', async (t) => {
  const { now } = Date
  Date.now = () => now() - 60 * MINUTE_MS
  const { counters } = await join(t).finally(() => Object.assign(Date, { now }))
  const time = await counters.update(['time:x'], (_, step) => step.now)
  t.ok(Math.abs(time - now()) < MINUTE_MS)
})

t.test('a counter that another program has replaced begins again, the others of its step go on', async (t) => {
  const { counters } = await join(t)
  const key = redisKeys.access('sum:replaced')
  const foreign = { bytes: Buffer.from([0xff, 0x31]), 'a long text': '1'.repeat(100_000), 'another type': undefined }
  for (const [kind, value] of Object.entries(foreign)) {
    await redis.client().del(key, redisKeys.access('sum:right'))
    await add(counters, 'sum:right')
    await (value === undefined ? redis.client().lpush(key, 'x') : redis.client().set(key, value))
    await Promise.all([add(counters, 'sum:replaced'), add(counters, 'sum:right')])
    t.equal(await stored('sum:replaced'), '1', kind)
    t.equal(await stored('sum:right'), '2', kind)
  }
})

t.test('failed logins are stored in the form of version 0.1.0', async (t) => {
  const { counters } = await join(t)
  const attempts = new LoginAttempts({ failedLogins: () => 5, counters })
  const pair = `pair:${counters.digest('10.0.0.1', 'bob')}`
  await redis.client().set(redisKeys.access(pair), `4.000000 ${Date.now()} 0`)
  t.match(await attempts.count('10.0.0.1', 'bob'), { allowed: true })
  t.match(await stored(pair), /^[45]\.\d{6} \d{13} \d{13}$/, 'the fifth failure blocks')
  t.match(await attempts.count('10.0.0.1', 'bob'), { allowed: false })
})
