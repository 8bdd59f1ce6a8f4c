/** A log-out that Redis has not stored is no success: another replica would still accept the token. */
import t, { type Test } from 'tap'
import { redisKeys } from '../../../src/replicas/options.ts'
import { eventually } from '../../support/eventually.ts'
import type { RedisServer } from '../../support/redis.ts'
import { basic, bearer, passwords, tokenOf } from './edge.ts'
import { replicas } from './shared.ts'

const end = 'DELETE /security/user/authenticate'

interface Fault {
  begin(redis: RedisServer): unknown
  end(redis: RedisServer): unknown
}

/** Commands of the script that writes revocations: each ends the script at another place. */
const denied = ['evalsha', 'zrange', 'hget', 'hset', 'zadd', 'publish']
const permissions = (redis: RedisServer, ...rules: string[]) =>
  redis.client().call('ACL', 'SETUSER', 'default', ...rules)

const faults: Readonly<Record<string, Fault>> = {
  stopped: { begin: (redis) => redis.kill(), end: (redis) => redis.restart() },
  frozen: { begin: (redis) => redis.pause(), end: (redis) => redis.resume() },
  ...Object.fromEntries(
    denied.map((command): [string, Fault] => [
      `refusing ${command}`,
      {
        begin: (redis) => permissions(redis, `-${command}`, ...(command === 'evalsha' ? ['-eval'] : [])),
        end: (redis) => permissions(redis, '+@all'),
      },
    ]),
  ),
}

async function start(t: Test) {
  const { start: add, redis } = await replicas(t)
  const [here, there] = [await add(), await add()]
  const isRefused = async (token: string) => (await there.ask([bearer(token)])).status === 401
  return { redis, here, there, add, isRefused }
}

t.test(
  'a log-out that Redis does not store is 944, holds here at once, and elsewhere when Redis is back',
  async (t) => {
    const { redis, here, there, isRefused } = await start(t)
    for (const [name, fault] of Object.entries(faults)) {
      const token = await tokenOf(here, 'bob')
      t.equal((await there.ask([bearer(token)])).status, 200, `${name}: accepted elsewhere before`)
      await fault.begin(redis)
      const reply = await here.ask([bearer(token)], end)
      t.match(reply, { status: 503, text: '{"error":944}' }, name)
      t.match(reply.headers['retry-after'], /^[1-9]\d*$/, name)
      t.equal((await here.ask([bearer(token)])).status, 401, `${name}: refused here at once`)
      const again = await here.ask([basic('bob', passwords.bob)], end)
      t.equal(again.status, 503, `${name}: repeated, and still not stored`)
      await fault.end(redis)
      await eventually(() => isRefused(token))
      await eventually(async () => (await here.ask([basic('bob', passwords.bob)], end)).status === 200)
    }
  },
)

t.test('a log-out that a full Redis stores is a success, and holds elsewhere', async (t) => {
  const { redis, here, add, isRefused } = await start(t)
  const token = await tokenOf(here, 'bob')
  await redis.client().call('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction')
  t.equal((await here.ask([bearer(token)], end)).status, 200)
  await eventually(() => isRefused(token))
  t.equal((await (await add()).ask([bearer(token)])).status, 401, 'at a replica that starts later')
})

t.test('revocations are complete again after one of their keys was deleted', async (t) => {
  const { redis, here, add } = await start(t)
  const client = redis.client()
  for (const key of ['revoked', 'facts', 'ends'].map(redisKeys.access)) {
    const token = await tokenOf(here, 'bob')
    t.equal((await here.ask([bearer(token)], end)).status, 200)
    await client.del(key)
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
    await eventually(async () => (await client.exists(key)) === 1)
    t.equal((await (await add()).ask([bearer(token)])).status, 401, `without ${key}`)
  }
})
