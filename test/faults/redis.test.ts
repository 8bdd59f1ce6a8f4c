import t from 'tap'
import { runCourse, summarize } from './redis-course.ts'
import { type FaultName, faults } from './redis-faults.ts'
import { MAX_CALLS, type SingleStage, startStage } from './redis-stage.ts'

const seed = Date.now() % 1_000_000
let stage: SingleStage

t.before(async () => {
  stage = await startStage()
})
t.teardown(() => stage.close())

for (const name of Object.keys(faults) as FaultName[]) {
  t.test(`Redis ${name} under load: no request fails, and the cache recovers`, async (t) => {
    const result = await runCourse(stage, () => faults[name](stage, 1000), {
      rate: 60,
      time: 1500,
      seed,
      repetitions: 5,
    })
    const { before, during, after, failures, maxCalls } = result
    t.comment(summarize(name, result))
    t.same(failures.slice(0, 3), [], `nothing fails (seed ${seed})`)
    // Relative to the same run, since machines are busy. `npm run check:faults` checks absolute figures.
    t.ok(during.p50 <= 2 * before.p99 + 250, `${during.p50} ms against ${before.p99} ms before`)
    // When the fault begins, one replica may have the whole limit in flight, and the others add their shares.
    const others = stage.replicas.length - 1
    const most = MAX_CALLS + (others * MAX_CALLS) / stage.replicas.length
    t.ok(maxCalls <= most, `${maxCalls} calls at once`)
    t.ok(before.hits > 0.5 * before.requests, 'mostly hits before')
    t.ok(after.hits > 0.5 * after.requests, 'mostly hits afterwards')
  })
}
