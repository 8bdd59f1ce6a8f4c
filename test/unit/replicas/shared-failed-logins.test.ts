/** Failed logins at a node are counted for all replicas, because the node may see them under one address. */
import t, { type Test } from 'tap'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { SharedCounters } from '../../../src/replicas/shared-counters.ts'
import { reserveAttemptAt } from '../../../src/upstream/probes.ts'
import { createFailedLogins, type LoginSource } from '../../../src/upstream/tokens/failed-logins.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

async function start(t: Test) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const join = async () => {
    // A long timeout, because other tests keep the machine busy.
    const replica = new RedisReplica({ redis: { url: redis.url }, times: { commandTimeout: 5000 } })
    await replica.start()
    t.teardown(() => replica.close())
    return { replica, shared: new SharedCounters(replica) }
  }
  const counterOf = ({ shared }: Awaited<ReturnType<typeof join>>, node = 'master') =>
    createFailedLogins(node, shared, () => undefined)
  return { redis, join, counterOf }
}

/** Returns how many of the logins were counted; the others were blocked. */
async function countedOf(logins: Iterable<Promise<{ readonly isBlocked: boolean }>>): Promise<number> {
  return (await Promise.all(logins)).filter(({ isBlocked }) => !isBlocked).length
}

const unknown = (name: string, address = 'attacker') => ({ name, address, isTrusted: false })

t.test(
  'parallel logins of all replicas end at the share of one name and address, and at the limit of all',
  async (t) => {
    const { join, counterOf } = await start(t)
    const counters = (await Promise.all([join(), join(), join()])).map((each) => counterOf(each))
    const attempts = (sourceOf: (at: number) => LoginSource) =>
      countedOf(
        counters.flatMap((counter, at) =>
          Array.from({ length: 15 }, async (_, turn) => {
            const login = await counter.count(sourceOf(at * 100 + turn))
            if (!login.isBlocked) await login.end('wrong')
            return login
          }),
        ),
      )
    t.equal(await attempts((at) => unknown(`guess-${at}`)), 8, 'one address with many names')
    t.equal(await attempts((at) => unknown('bob', `${at}`)), 12, 'one name from many addresses')
    t.equal(await attempts((at) => unknown(`new-${at}`, `new-${at}`)), 14, 'addresses without failures')
    t.equal(
      await attempts((at) => ({ ...unknown(`known-${at}`), isTrusted: true })),
      11,
      'the reserve for trusted credentials',
    )
    for (const counter of counters) {
      const result = await counter.count(unknown('other', 'other'))
      t.ok(result.isBlocked && result.blockedFor > 250_000 && result.blockedFor <= 300_000)
      t.ok(counter.blockedFor(unknown('any', 'any')) > 0, 'known here without another step to Redis')
    }
  },
)

t.test('a name that was good before comes first, at all replicas', async (t) => {
  const { join, counterOf } = await start(t)
  const [one, other] = [counterOf(await join()), counterOf(await join())]
  const first = await one.count(unknown('ann', 'home'))
  if (!first.isBlocked) await first.end('right')
  for (let at = 0; at < 60; at += 1) await one.count(unknown(`guess-${at}`, `address-${at}`))
  t.equal((await other.count(unknown('eve', 'office'))).isBlocked, true)
  const known = await other.count(unknown('ann', 'office'))
  t.equal(known.isBlocked, false)
  t.equal((await other.count(unknown('ann', 'address-1'))).isBlocked, true, 'but not from an address of the attacker')
})

t.test('a login that did not fail is not counted', async (t) => {
  const { join, counterOf } = await start(t)
  const [one, other] = [counterOf(await join()), counterOf(await join())]
  for (let turn = 0; turn < 100; turn += 1) {
    const counted = await (turn % 2 === 0 ? one : other).count(unknown('ann'))
    t.equal(counted.isBlocked, false)
    if (!counted.isBlocked) await counted.end(turn % 3 === 0 ? 'right' : 'undecided')
  }
})

t.test('the failures outlive a restart of a replica, and each node has its own', async (t) => {
  const { join, counterOf } = await start(t)
  const before = counterOf(await join())
  for (let turn = 0; turn < 40; turn += 1) await before.count(unknown(`guess-${turn}`))
  const after = await join()
  t.equal((await counterOf(after).count(unknown('new'))).isBlocked, true)
  t.equal((await counterOf(after, 'worker').count(unknown('new'))).isBlocked, false)
})

t.test('while Redis is unreachable, each replica has its share of the limit', async (t) => {
  const { redis, join, counterOf } = await start(t)
  const joined = [await join(), await join()]
  await eventually(() => joined.every(({ shared }) => shared.replicas === 2))
  const counters = joined.map((each) => counterOf(each))
  await redis.kill()
  for (const counter of counters) {
    t.equal(await countedOf(Array.from({ length: 30 }, (_, turn) => counter.count(unknown(`guess-${turn}`)))), 4)
  }
})

t.test('Redis holds no name', async (t) => {
  const { redis, join, counterOf } = await start(t)
  await counterOf(await join()).count(unknown('a-password-in-the-wrong-field'))
  const client = redis.client()
  const key = 'edge:{a}:failed:master'
  t.match(await client.get(key), /^\d+ [\w-]+ [\w-]+$/)
  t.notMatch(await client.get(key), /password/)
  t.ok((await client.pttl(key)) > 0, 'it ends by itself')
})

t.test('one replica of all reserves an attempt at a node that blocks the address', async (t) => {
  const { join } = await start(t)
  const replicas = await Promise.all([join(), join(), join()])
  await eventually(() => replicas.every(({ shared }) => shared.replicas === 3))
  const reserve = () => Promise.all(replicas.map(({ shared }) => reserveAttemptAt('master', 60_000, shared)))
  const won = (await reserve()).filter((release) => release !== undefined)
  t.equal(won.length, 1)
  t.same(await reserve(), [undefined, undefined, undefined], 'not within the pause')
  await won[0]?.()
  t.equal((await reserve()).filter((release) => release !== undefined).length, 1, 'the node answered: the next one')
})
