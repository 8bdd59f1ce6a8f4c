/** Each key of the edge, replaced by each other type of value: the edge deletes it, and goes on. */
import type { Redis } from 'ioredis'
import t from 'tap'
import type { StoreEvent } from '../../../src/core/events.ts'
import { systemClock } from '../../../src/core/timing.ts'
import { RedisConnection } from '../../../src/replicas/connection.ts'
import { DEFAULT_TIMES, redisKeys } from '../../../src/replicas/options.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { createSharedRevocations } from '../../../src/replicas/shared-revocations.ts'
import { WrongTypes } from '../../../src/replicas/wrong-types.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const server = await startRedis()
t.teardown(() => server.close())
const client = server.client()

const { access } = redisKeys

/** No command on busy cores takes so long. */
const COMMAND_MS = 30_000
const TIMES = { commandTimeout: COMMAND_MS, bulkTimeout: COMMAND_MS, heartbeatInterval: 20 }

/** Keys of each kind, and their types. */
const keys: Readonly<Record<keyof typeof redisKeys, readonly (readonly [key: string, type: string])[]>> = {
  epochs: [[redisKeys.epochs, 'hash']],
  entry: [[redisKeys.entry('x'), 'string']],
  part: [[redisKeys.part('x'), 'string']],
  lock: [[redisKeys.lock('x'), 'string']],
  index: redisKeys.index('x').map((key, at) => [key, at === 0 ? 'zset' : 'hash']),
  access: [
    [access('revoked'), 'zset'],
    [access('facts'), 'hash'],
    [access('ends'), 'zset'],
    [access('born'), 'string'],
    [access('pair:x'), 'string'],
  ],
  descriptions: redisKeys.descriptions.map((key, at) => [key, at === 0 ? 'zset' : 'hash']),
  slots: [[redisKeys.slots('x'), 'string']],
}

/** For each type the command that writes a value, with its arguments after the key. */
const writes: Readonly<Record<string, readonly [string, ...string[]]>> = {
  string: ['set', 'x'],
  list: ['lpush', 'x'],
  hash: ['hset', 'x', 'x'],
  set: ['sadd', 'x'],
  zset: ['zadd', '1', 'x'],
}

/** Replaces a key. In one step: a heartbeat would create the hash of epochs in between. */
async function write(key: string, type: string): Promise<void> {
  const [command = '', ...args] = writes[type] ?? []
  const commands = [
    ['del', key],
    [command, key, ...args],
  ]
  await client.multi(commands).exec()
}

function read(redis: Redis, key: string, type: string): Promise<unknown> {
  if (type === 'string') return redis.get(key)
  if (type === 'hash') return redis.hget(key, 'x')
  return type === 'set' ? redis.smembers(key) : redis.zrange(key, '0', '0')
}

/** A command of the type that the edge uses. */
function use(replica: RedisReplica, key: string, type: string) {
  return replica.commands.send(COMMAND_MS, (redis) => read(redis, key, type))
}

for (const kind of Object.keys(redisKeys) as (keyof typeof redisKeys)[]) {
  t.test(`${kind}: a value of another type`, async (t) => {
    const events: (readonly [StoreEvent, string | undefined])[] = []
    const replica = new RedisReplica({
      redis: { url: server.url },
      times: TIMES,
      onEvent: (event, reason) => events.push([event, reason]),
    })
    t.teardown(() => replica.close())
    await replica.start()
    for (const [key, right] of keys[kind]) {
      for (const type of Object.keys(writes)) {
        if (type === right) continue
        await write(key, type)
        const replies = await Promise.all(Array.from({ length: 5 }, () => use(replica, key, right)))
        t.ok(replies.length === 5, `${key} as ${type}: every command ends`)
        await eventually(async () => (await client.type(key)) !== type)
        t.ok((await use(replica, key, right)).ok, `${key} as ${type}: repaired`)
      }
    }
    t.equal(events.filter(([event]) => event === 'repaired').length, 1, 'one incident, one event')
  })
}

t.test('revocations that another program has replaced are written again', async (t) => {
  for (const key of ['revoked', 'facts', 'ends', 'born'].map(access)) {
    await client.flushall()
    const replica = new RedisReplica({
      redis: { url: server.url },
      times: TIMES,
    })
    const list = createSharedRevocations({ replica, clock: systemClock, log: () => undefined })
    t.teardown(() => replica.close())
    await list.start()
    const until = Date.now() + 60_000
    t.ok(await list.revoke('edge', 'one', until))
    await client.multi().del(key).lpush(key, 'x').exec()
    await eventually(() => list.revoke('edge', 'two', until))
    await eventually(async () => {
      const lengths = [client.hlen(access('facts')), client.zcard(access('revoked'))]
      return (await Promise.all(lengths).catch(() => [])).join(' ') === '2 2'
    })
    t.pass(key)
  }
})

t.test('a command that failed before the repair deletes nothing that was written after it', async (t) => {
  const connection = new RedisConnection({ url: server.url }, { ...DEFAULT_TIMES, ...TIMES })
  t.teardown(() => connection.close())
  connection.open()
  await connection.waitUntilReady(COMMAND_MS)
  const events: StoreEvent[] = []
  const { elapsed } = systemClock
  const repairs = new WrongTypes({ connection, timeout: COMMAND_MS, elapsed, onEvent: (event) => events.push(event) })
  for (const [key, right] of Object.values(keys).flat()) {
    await write(key, 'list')
    const failure: unknown = await read(client, key, right).catch((error: unknown) => error)
    await write(key, right)
    await repairs.repair(failure)
    t.equal(await client.type(key), right, key)
  }
  t.same(events, [])
})

t.test('a key that is no key of the edge is left alone', async (t) => {
  const replica = new RedisReplica({ redis: { url: server.url }, times: TIMES })
  t.teardown(() => replica.close())
  await replica.start()
  await client.set('other', 'x')
  t.notOk((await use(replica, 'other', 'hash')).ok)
  t.equal(await client.get('other'), 'x')
})
