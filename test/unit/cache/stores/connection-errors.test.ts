import t, { type Test } from 'tap'
import { freePort } from '../../../../packages/simulator/src/free-port.ts'
import { eventually } from '../../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../../support/redis.ts'
import { openRedisStore } from '../../../support/redis-store.ts'
import { replica, shortTimes } from './replicas.ts'

/** Returns the reason that the log shows for a Redis that cannot be used. */
async function reasonOf(t: Test, redis: { url: string; username?: string; password?: string }): Promise<string> {
  const reasons: (string | undefined)[] = []
  const store = await openRedisStore({
    redis,
    localBytes: () => 0,
    times: { ...shortTimes, bulkTimeout: 300 },
    onEvent: (event, reason) => void (event === 'unreachable' && reasons.push(reason)),
  })
  t.teardown(() => store.close())
  await eventually(() => reasons.length > 0)
  return reasons[0] ?? ''
}

async function server(t: Test, args: readonly string[] = []): Promise<RedisServer> {
  const redis = await startRedis({ args })
  t.teardown(() => redis.close())
  return redis
}

t.test('the reason why Redis cannot be used is reported, without credentials', async (t) => {
  const { url } = await server(t, ['--requirepass', 'the-right-one'])
  const wrong = await reasonOf(t, { url, password: 'the-wrong-one' })
  t.match(wrong, /WRONGPASS/)
  t.notMatch(wrong, /the-(right|wrong)-one/)
  t.match(await reasonOf(t, { url }), /NOAUTH/)
  t.match(await reasonOf(t, { url: `redis://127.0.0.1:${await freePort()}` }), /ECONNREFUSED/)
})

t.test('a command that the ACL denies is reported', async (t) => {
  const redis = await server(t)
  const rights = ['~edge:*', '&edge:*', '+@all', '-evalsha']
  await redis.client().call('ACL', 'SETUSER', 'edge', 'reset', 'on', '>pw', ...rights)
  t.match(await reasonOf(t, { url: redis.url, username: 'edge', password: 'pw' }), /NOPERM.*evalsha/)
})

t.test('a command that the ACL denies to writes only is reported with each write that is refused', async (t) => {
  const redis = await server(t)
  const rights = ['~edge:*', '&edge:*', '+@all', '-hincrby']
  await redis.client().call('ACL', 'SETUSER', 'edge', 'reset', 'on', '>pw', ...rights)
  const user = { url: redis.url, username: 'edge', password: 'pw' }
  const { store, events, reasons } = await replica(t, user)
  t.equal((await store.fence(['agent:001'], 100)).state, 'refused')
  t.ok(events.includes('unconfirmed'))
  t.match(reasons.at(-1), /the ACL of Redis denies a command/)
})
