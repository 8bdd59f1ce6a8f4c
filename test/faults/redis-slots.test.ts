import t from 'tap'
import { course, line } from './redis-course.ts'
import { moveSlots } from './redis-faults.ts'
import { holds } from './redis-group-held.ts'
import { startClusterStage } from './redis-stage.ts'
import { redisUser } from './redis-user.ts'

const seed = Date.now() % 1_000_000
const options = { rate: 60, time: 1000, seed, writers: 2 }

t.test('slots of a cluster change their master under load: nothing fails, nothing old is read', async (t) => {
  const user = await redisUser()
  const stage = await startClusterStage({ user })
  t.teardown(async () => {
    await stage.close()
    await user.remove()
  })
  const result = await course(stage, () => moveSlots(stage, 500), options)
  t.comment(`seed ${seed}; ${line('slots moved', result)}`)
  holds(t, result)
})
