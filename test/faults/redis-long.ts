/**
 * The long checks under faults of Redis (`npm run check:faults`): how many requests fail, how long recovery takes, and
 * whether a read is ever wrong. Optional arguments: requests per second, seconds of each phase, seed, name of a fault.
 */
import { type CourseResult, runCourse, summarize } from './redis-course.ts'
import { type FaultName, failOver, faults, moveSlots } from './redis-faults.ts'
import { FETCH_MS, flood } from './redis-flood.ts'
import { MAX_CALLS, startClusterStage, startSentinelStage, startStage } from './redis-stage.ts'

const [rate = '500', seconds = '10', seed = String(Date.now() % 1_000_000), only] = process.argv.slice(2)
const time = Number(seconds) * 1000
const options = { rate: Number(rate), time, seed: Number(seed) }
/** Beyond this p99 without a fault, the machine is too busy for the rate. */
const MAX_BASE_P99_MS = 250
const failed: string[] = []

function hold(what: string, right: boolean): void {
  console.log(`${right ? 'ok' : 'NOT OK'} – ${what}`)
  if (!right) failed.push(what)
}

function holdCourse(name: string, result: CourseResult): void {
  const { before, during, after, failures, maxCalls, recovery, written } = result
  console.log(summarize(name, result))
  if (before.p99 > MAX_BASE_P99_MS)
    console.log(`  this machine is too busy for ${rate} requests per second: the limits below mean little`)
  for (const failure of failures.slice(0, 3)) console.log(`  ${failure}`)
  for (const violation of (written?.violations ?? []).slice(0, 5)) console.log(`  ${JSON.stringify(violation)}`)
  hold(`${name}: no request fails`, failures.length === 0 && (written?.unanswered ?? 0) === 0)
  if (written !== undefined) hold(`${name}: nothing old is read`, written.violations.length === 0)
  hold(`${name}: p99 within 100 ms of that before`, during.p99 <= before.p99 + 100)
  hold(`${name}: at most ${maxCalls} concurrent upstream calls`, maxCalls <= 2 * MAX_CALLS)
  hold(`${name}: recovered within two leases`, recovery <= 4000)
  hold(`${name}: as many hits as before`, after.hits / after.requests > (0.95 * before.hits) / before.requests)
}

async function holdFlood(): Promise<void> {
  const stage = await startStage({ timeout: '3s' })
  const once = await flood(stage, { requests: 10_000, path: '/agents/901', killHolder: false })
  const all = once.answered === 10_000
  hold(`10,000 identical misses: ${once.calls} call, ${once.answered} answered`, once.calls === 1 && all)
  const killed = await flood(stage, { requests: 10_000, path: '/agents/902', killHolder: true })
  const limit = 3000 + 2000 + FETCH_MS
  hold(
    `holder killed: ${killed.calls} calls, ${killed.answered} answered in ${Math.round(killed.time)} ms`,
    killed.calls <= 2 && killed.answered === 10_000 && killed.time <= limit + 5000,
  )
  await stage.close()
}

async function holdFault(name: FaultName): Promise<void> {
  const stage = await startStage({ timeout: '3s' })
  holdCourse(name, await runCourse(stage, () => faults[name](stage, time), options))
  await stage.close()
}

async function holdFailOver(): Promise<void> {
  const stage = await startSentinelStage({ timeout: '3s' })
  holdCourse('failover', await runCourse(stage, () => failOver(stage, 1000), { ...options, writers: 3 }))
  await stage.close()
}

async function holdSlots(): Promise<void> {
  const stage = await startClusterStage({ timeout: '3s' })
  holdCourse('slots', await runCourse(stage, () => moveSlots(stage, time), { ...options, writers: 3 }))
  await stage.close()
}

const checks: Readonly<Record<string, () => Promise<void>>> = {
  ...Object.fromEntries((Object.keys(faults) as FaultName[]).map((name) => [name, () => holdFault(name)])),
  failover: holdFailOver,
  slots: holdSlots,
  flood: holdFlood,
}

console.log(`seed ${seed}`)
for (const [name, run] of Object.entries(checks)) if (only === undefined || only === name) await run()
if (failed.length > 0) console.log(`failed: ${failed.join('; ')}`)
process.exit(failed.length === 0 ? 0 : 1)
