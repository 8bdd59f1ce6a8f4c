/**
 * The long form of the checks under faults of Redis (`npm run check:faults`): how many requests fail, how soon it is as
 * before, and whether a read is ever wrong. Arguments, all optional: requests a second, seconds of each phase, seed, and
 * one fault alone, by its name.
 */
import { type Course, course, line } from './redis-course.ts'
import { type FaultName, failOver, faults, moveSlots } from './redis-faults.ts'
import { flood, STEADY } from './redis-flood.ts'
import { IN_FLIGHT, startClusterStage, startSentinelStage, startStage } from './redis-stage.ts'

const [rate = '500', seconds = '10', seed = String(Date.now() % 1_000_000), only] = process.argv.slice(2)
const time = Number(seconds) * 1000
const options = { rate: Number(rate), time, seed: Number(seed) }
/** Milliseconds of p99 without any fault, at a rate that the machine bears. */
const BUSY = 250
const failed: string[] = []

function hold(what: string, right: boolean): void {
  console.log(`${right ? 'ok' : 'NOT OK'} – ${what}`)
  if (!right) failed.push(what)
}

function holdCourse(name: string, result: Course): void {
  const { before, during, after, failures, most, recovery, written } = result
  console.log(line(name, result))
  if (before.p99 > BUSY)
    console.log(`  this machine is too busy for ${rate} requests a second: no limit below means much`)
  for (const failure of failures.slice(0, 3)) console.log(`  ${failure}`)
  for (const violation of (written?.violations ?? []).slice(0, 5)) console.log(`  ${JSON.stringify(violation)}`)
  hold(`${name}: nothing fails`, failures.length === 0 && (written?.unanswered ?? 0) === 0)
  if (written !== undefined) hold(`${name}: nothing old is read`, written.violations.length === 0)
  hold(`${name}: p99 within 100 ms of that before`, during.p99 <= before.p99 + 100)
  hold(`${name}: the upstream has ${most} calls at once`, most <= 2 * IN_FLIGHT)
  hold(`${name}: recovered within two leases`, recovery <= 4000)
  hold(`${name}: as many hits after it as before`, after.hits / after.requests > (0.95 * before.hits) / before.requests)
}

async function holdFlood(): Promise<void> {
  const stage = await startStage({ timeout: '3s' })
  const once = await flood(stage, { requests: 10_000, path: '/agents/901', killHolder: false })
  const all = once.answered === 10_000
  hold(`10,000 equal misses: ${once.calls} call, ${once.answered} answered`, once.calls === 1 && all)
  const killed = await flood(stage, { requests: 10_000, path: '/agents/902', killHolder: true })
  const limit = 3000 + 2000 + STEADY
  hold(
    `holder killed: ${killed.calls} calls, ${killed.answered} answered in ${Math.round(killed.time)} ms`,
    killed.calls <= 2 && killed.answered === 10_000 && killed.time <= limit + 5000,
  )
  await stage.close()
}

async function holdFault(name: FaultName): Promise<void> {
  const stage = await startStage({ timeout: '3s' })
  holdCourse(name, await course(stage, () => faults[name](stage, time), options))
  await stage.close()
}

async function holdFailOver(): Promise<void> {
  const stage = await startSentinelStage({ timeout: '3s' })
  holdCourse('failover', await course(stage, () => failOver(stage, 1000), { ...options, writers: 3 }))
  await stage.close()
}

async function holdSlots(): Promise<void> {
  const stage = await startClusterStage({ timeout: '3s' })
  holdCourse('slots', await course(stage, () => moveSlots(stage, time), { ...options, writers: 3 }))
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
