/**
 * The long form of the checks under faults of Redis (`npm run check:faults`): the figures of promises.md R1, R2, R4 and
 * R10. Arguments, all optional: requests a second, seconds of each phase, seed.
 */
import { course, type FaultName, faults, IN_FLIGHT, line, startStage } from './redis-faults.ts'
import { flood, STEADY } from './redis-flood.ts'

const [rate = '500', seconds = '10', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2)
const failed: string[] = []

function hold(what: string, right: boolean): void {
  console.log(`${right ? 'ok' : 'NOT OK'} – ${what}`)
  if (!right) failed.push(what)
}

console.log(`seed ${seed}`)
const stage = await startStage('3s')
for (const name of Object.keys(faults) as FaultName[]) {
  const result = await course(stage, name, { rate: Number(rate), time: Number(seconds) * 1000, seed: Number(seed) })
  const { before, during, after, failures, most, recovery } = result
  console.log(line(name, result))
  for (const failure of failures.slice(0, 3)) console.log(`  ${failure}`)
  hold(`${name}: nothing fails`, failures.length === 0)
  hold(`${name}: p99 within 100 ms of that before`, during.p99 <= before.p99 + 100)
  hold(`${name}: the upstream has ${most} calls at once`, most <= stage.replicas.length * IN_FLIGHT)
  hold(`${name}: recovered within two leases`, recovery <= 4000)
  hold(`${name}: as many hits after it as before`, after.hits / after.requests > (0.95 * before.hits) / before.requests)
}
const once = await flood(stage, { requests: 10_000, path: '/agents/901', killHolder: false })
hold(`10,000 equal misses: ${once.calls} call, ${once.answered} answered`, once.calls === 1 && once.answered === 10_000)
const killed = await flood(stage, { requests: 10_000, path: '/agents/902', killHolder: true })
const limit = 3000 + 2000 + STEADY
hold(
  `holder killed: ${killed.calls} calls, ${killed.answered} answered in ${Math.round(killed.time)} ms`,
  killed.calls <= 2 && killed.answered === 10_000 && killed.time <= limit + 5000,
)
await stage.close()
if (failed.length > 0) console.log(`failed: ${failed.join('; ')}`)
process.exit(failed.length === 0 ? 0 : 1)
