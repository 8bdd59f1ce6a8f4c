import t from 'tap'
import { assertCourse } from './redis-assertions.ts'
import { runCourse, summarize } from './redis-course.ts'
import { failOver } from './redis-faults.ts'
import { startSentinelStage } from './redis-stage.ts'
import { createRedisUser } from './redis-user.ts'

const seed = Date.now() % 1_000_000
const options = { rate: 60, time: 1000, seed, writers: 2, repetitions: 5 }

t.test('under load, a Sentinel fail-over that loses data empties the cache, and nothing old is read', async (t) => {
  const user = await createRedisUser()
  const stage = await startSentinelStage({ user })
  t.teardown(async () => {
    await stage.close()
    await user.remove()
  })
  const result = await runCourse(stage, () => failOver(stage, 300), options)
  t.comment(`seed ${seed}; ${summarize('fail-over', result)}`)
  // On busy cores, a fail-over takes longer than a write waits for Redis.
  assertCourse(t, result, { mayRefuseWrites: true })
})
