import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { createWriteLocks } from '../../../../src/cache/write-locks.ts'
import { startRedis } from '../../../support/redis.ts'
import { openRedisStore } from '../../../support/redis-store.ts'

const noAbort = new AbortController().signal
const LEASE = 600

t.test('write locks over Redis', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const replica = async () => {
    const store = await openRedisStore({
      redis: { url: redis.url },
      localBytes: () => 1024,
      times: { commandTimeout: 500 },
    })
    return { store, locks: createWriteLocks(store.acquireWriteLock, LEASE) }
  }
  const [one, other] = await Promise.all([replica(), replica()])
  t.teardown(() => Promise.all([one.store.close(), other.store.close()]))

  await t.test('one replica at a time holds a lock', async (t) => {
    let inside = 0
    let most = 0
    const work = async ({ locks }: typeof one) => {
      const turn = await locks.acquire('file', 20_000, noAbort)
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

  await t.test('replicas of version 0.1.0 take the same lock', async (t) => {
    const held = await one.locks.acquire('file', 1000, noAbort)
    const name = createHash('sha256').update('file').digest('base64url')
    t.strictSame(await redis.client().keys('edge:l:*'), [`edge:l:turn:${name}:r2JzHSAWZi33HlPbh5wdjB`])
    await held?.release()
  })

  await t.test('a holder keeps its lock beyond the lease while it works', async (t) => {
    const turn = await one.locks.acquire('file', 1000, noAbort)
    t.equal(await other.locks.acquire('file', LEASE * 2, noAbort), undefined)
    await turn?.release()
  })

  await t.test('the lock of a holder that died is free after its lease', async (t) => {
    const dying = await replica()
    t.ok(await dying.locks.acquire('file', 1000, noAbort))
    await dying.store.close()
    const turn = await other.locks.acquire('file', LEASE * 5, noAbort)
    t.ok(turn)
    await turn?.release()
  })

  await t.test('without Redis each process has its own locks', async (t) => {
    await redis.kill()
    const [mine, its] = await Promise.all([one, other].map(({ locks }) => locks.acquire('file', 5000, noAbort)))
    t.ok(mine, 'an unreachable Redis delays nothing')
    t.ok(its)
    t.equal(
      await one.locks.acquire('file', 100, noAbort),
      undefined,
      'within the process there is one holder at a time',
    )
    await Promise.all([mine?.release(), its?.release()])
    await redis.restart()
  })
})
