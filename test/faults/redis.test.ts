import t from 'tap'
import { course, line } from './redis-course.ts'
import { type FaultName, faults } from './redis-faults.ts'
import { IN_FLIGHT, type SingleStage, startStage } from './redis-stage.ts'

const seed = Date.now() % 1_000_000
let stage: SingleStage

t.before(async () => {
  stage = await startStage()
})
t.teardown(() => stage.close())

for (const name of Object.keys(faults) as FaultName[]) {
  t.test(`Redis ${name} under load: slower at most, and as before after it`, async (t) => {
    const result = await course(stage, () => faults[name](stage, 1000), { rate: 60, time: 1500, seed })
    const { before, during, after, failures, most } = result
    t.comment(line(name, result))
    t.same(failures.slice(0, 3), [], `nothing fails (seed ${seed})`)
    // Relative to this very run, since machines are busy; the strict figures are held by the long form.
    t.ok(during.p50 <= 2 * before.p99 + 250, `${during.p50} ms against ${before.p99} ms before`)
    t.ok(most <= stage.replicas.length * IN_FLIGHT, `${most} calls at once`)
    t.ok(before.hits > 0.5 * before.requests, 'hot before')
    t.ok(after.hits > 0.5 * after.requests, 'hot again after')
  })
}
