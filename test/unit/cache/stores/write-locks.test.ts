import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createWriteLocks } from '../../../../src/cache/write-lock.ts'
import { startRedis } from '../../../support/redis.ts'
import { openRedisStore } from '../../../support/redis-store.ts'

const nobody = new AbortController().signal
const LEASE = 600

t.test('turns over Redis', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const replica = async () => {
    const store = await openRedisStore({
      redis: { url: redis.url },
      localBytes: 1024,
      times: { commandTimeout: 500 },
    })
    return { store, turns: createWriteLocks(store.acquireFetchLock, LEASE) }
  }
  const [one, other] = await Promise.all([replica(), replica()])
  t.teardown(() => Promise.all([one.store.close(), other.store.close()]))

  await t.test('pass from one replica to the other, one at a time', async (t) => {
    let inside = 0
    let most = 0
    const work = async ({ turns }: typeof one) => {
      const turn = await turns.acquire('file', 20_000, nobody)
      inside += 1
      most = Math.max(most, inside)
      await wait(10)
      inside -= 1
      await turn?.release()
      return turn
    }
    const done = await Promise.all([one, other, one, other, one, other].map(work))
    t.ok(done.every((turn) => turn !== undefined))
    t.equal(most, 1)
  })

  await t.test('a holder that works for longer than the lease keeps its turn', async (t) => {
    const turn = await one.turns.acquire('file', 1000, nobody)
    t.equal(await other.turns.acquire('file', LEASE * 2, nobody), undefined)
    await turn?.release()
  })

  await t.test('a holder that dies loses it', async (t) => {
    const dying = await replica()
    t.ok(await dying.turns.acquire('file', 1000, nobody))
    await dying.store.close()
    const turn = await other.turns.acquire('file', LEASE * 5, nobody)
    t.ok(turn)
    await turn?.release()
  })

  await t.test('without Redis each process has its own turns', async (t) => {
    await redis.kill()
    const [mine, its] = await Promise.all([one, other].map(({ turns }) => turns.acquire('file', 5000, nobody)))
    t.ok(mine, 'nobody waits for a Redis that is away')
    t.ok(its)
    t.equal(await one.turns.acquire('file', 100, nobody), undefined, 'within the process there is still one at a time')
    await Promise.all([mine?.release(), its?.release()])
    await redis.restart()
  })
})
