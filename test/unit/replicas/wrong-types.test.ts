/** Each kind of key, replaced by each other type of value: keys of the cache are repaired, all others are reported. */
import t from 'tap'
import { KEY_RULES } from '../../../src/replicas/key-rules.ts'
import { redisKeys, type StoreEvent } from '../../../src/replicas/options.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const server = await startRedis()
t.teardown(() => server.close())
const client = server.client()

const ACCESS = ['revoked', 'facts', 'ends', 'born', 'blocks', 'edge', 'pair:x', 'window:1:x', 'failed:n', 'permits:n']

/** The names of all keys of a kind, for one name where the kind has several. */
function keysOf(kind: keyof typeof redisKeys): readonly string[] {
  if (kind === 'access') return ACCESS.map(redisKeys.access)
  const value = redisKeys[kind]
  return [typeof value === 'function' ? value('x') : value].flat()
}

/** For each type the command that writes a value, with its arguments after the key. */
const writes: Readonly<Record<string, readonly [string, ...string[]]>> = {
  string: ['set', 'x'],
  list: ['lpush', 'x'],
  hash: ['hset', 'x', 'x'],
  set: ['sadd', 'x'],
  zset: ['zadd', '1', 'x'],
}

/** A command of the type that the edge uses. */
function use(replica: RedisReplica, key: string, type: string) {
  return replica.commands.send(1000, (redis): Promise<unknown> => {
    if (type === 'string') return redis.get(key)
    if (type === 'hash') return redis.hget(key, 'x')
    return type === 'set' ? redis.smembers(key) : redis.zrange(key, '0', '0')
  })
}

for (const kind of Object.keys(redisKeys) as (keyof typeof redisKeys)[]) {
  t.test(`${kind}: a value of another type`, async (t) => {
    const events: (readonly [StoreEvent, string | undefined])[] = []
    const replica = new RedisReplica({
      redis: { url: server.url },
      times: { commandTimeout: 5000, heartbeatInterval: 20 },
      onEvent: (event, reason) => events.push([event, reason]),
    })
    t.teardown(() => replica.close())
    await replica.start()
    for (const key of keysOf(kind)) {
      const rule = KEY_RULES[kind].find(({ matches }) => matches(key))
      if (rule === undefined) return t.fail(`no rule for ${key}`)
      for (const [type, [command, ...args]] of Object.entries(writes)) {
        if (type === rule.type) continue
        events.length = 0
        // In one step: a heartbeat would create the hash of epochs in between.
        const commands = [
          ['del', key],
          [command, key, ...args],
        ]
        await client.multi(commands).exec()
        const replies = await Promise.all(Array.from({ length: 5 }, () => use(replica, key, rule.type)))
        t.ok(replies.length === 5, `${key} as ${type}: every command ends`)
        if (rule.repair === 'delete') {
          await eventually(async () => (await client.type(key)) !== type)
          t.ok((await use(replica, key, rule.type)).ok, `${key} as ${type}: repaired`)
          t.notOk(replica.wrongTypes.keys.includes(key))
          continue
        }
        await eventually(() => replica.wrongTypes.keys.includes(key))
        await use(replica, key, rule.type)
        t.equal(await client.type(key), type, `${key} as ${type}: left alone`)
        const named = events.filter(([event, reason]) => event === 'wrongType' && reason === key)
        t.equal(named.length, 1, 'reported once')
        await client.del(key)
        await eventually(() => !replica.wrongTypes.keys.includes(key))
      }
    }
  })
}

t.test('a key that is no key of the edge is left alone', async (t) => {
  const replica = new RedisReplica({ redis: { url: server.url }, times: { commandTimeout: 5000 } })
  t.teardown(() => replica.close())
  await replica.start()
  await client.set('other', 'x')
  t.notOk((await use(replica, 'other', 'hash')).ok)
  t.equal(await client.get('other'), 'x')
})
