import t from 'tap'
import { assertCourse } from './redis-assertions.ts'
import { runCourse, summarize } from './redis-course.ts'
import { moveSlots } from './redis-faults.ts'
import { startClusterStage } from './redis-stage.ts'
import { createRedisUser } from './redis-user.ts'

const seed = Date.now() % 1_000_000
const options = { rate: 60, time: 1000, seed, writers: 2 }

t.test('under load, slots of a cluster move to other masters: nothing fails, nothing old is read', async (t) => {
  const user = await createRedisUser()
  // No course is about the timeout: on busy cores Redis must not count as unreachable.
  const stage = await startClusterStage({ user, commandTimeout: '1s' })
  t.teardown(async () => {
    await stage.close()
    await user.remove()
  })
  const result = await runCourse(stage, () => moveSlots(stage, 500), options)
  t.comment(`seed ${seed}; ${summarize('slots moved', result)}`)
  assertCourse(t, result)
})
