import t from 'tap'
import { course, line } from './redis-course.ts'
import { failOver } from './redis-faults.ts'
import { holds } from './redis-group-held.ts'
import { startSentinelStage } from './redis-stage.ts'
import { redisUser } from './redis-user.ts'

const seed = Date.now() % 1_000_000
const options = { rate: 60, time: 1000, seed, writers: 2 }

t.test('a fail-over by Sentinel that loses writes, under load: cold, not wrong, and hot again', async (t) => {
  const user = await redisUser()
  const stage = await startSentinelStage({ user })
  t.teardown(async () => {
    await stage.close()
    await user.remove()
  })
  const result = await course(stage, () => failOver(stage, 300), options)
  t.comment(`seed ${seed}; ${line('fail-over', result)}`)
  holds(t, result)
})
