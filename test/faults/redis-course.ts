/** A load before, during and after a fault, and what came of it. */
import { setTimeout as wait } from 'node:timers/promises'
import { check, type Violation } from './coherence/history.ts'
import { startLoad } from './coherence/load.ts'
import { createRandom } from './coherence/random.ts'
import { type Phase, type Steady, startSteady } from './redis-load.ts'
import type { Stage } from './redis-stage.ts'

export interface Course {
  readonly before: Phase
  readonly during: Phase
  readonly after: Phase
  /** Of all phases, and of those between them. */
  readonly failures: readonly string[]
  /** Milliseconds from the end of the fault until most requests were hits. */
  readonly recovery: number
  /** Calls at once at the upstream, at most. */
  readonly most: number
  /** Absent where nothing was written beside the reads. */
  readonly written?: Written
}

/** Reads and writes of few registers, of which the order is checked. */
export interface Written {
  readonly operations: number
  readonly writes: number
  readonly unanswered: number
  readonly violations: readonly Violation[]
}

export interface CourseOptions {
  readonly rate: number
  /** Milliseconds of the phases before and after. */
  readonly time: number
  readonly seed: number
  /** Callers that read and write beside the load, one after the other; none when absent. */
  readonly writers?: number
}

/** More than this is no recovery, on the busiest machine. */
const PATIENCE = 20_000

/** `fault` ends with Redis as it should be. */
export async function course(stage: Stage, fault: () => Promise<void>, options: CourseOptions): Promise<Course> {
  const { upstream, replicas } = stage
  const { rate, time, seed, writers = 0 } = options
  const urls = replicas.map(({ url }) => url)
  const steady = startSteady({ replicas: urls, rate, random: createRandom(seed) })
  const writing = writers === 0 ? undefined : startWriting(urls, writers, seed)
  await untilHot(steady, 'warming')
  await upstream.report()
  steady.phase('before')
  await wait(time)
  steady.phase('during')
  await fault()
  const recovery = await untilHot(steady, 'returning')
  steady.phase('after')
  await wait(time)
  const written = await writing?.()
  const { before, during, after, ...others } = await steady.stop()
  const { most } = await upstream.report()
  if (!before || !during || !after) throw new Error('a phase is missing')
  const failures = [before, during, after, ...Object.values(others)].flatMap((phase) => phase.failures)
  return { before, during, after, failures, most, recovery, ...(written && { written }) }
}

/** Gives what ends it. */
function startWriting(replicas: readonly string[], callers: number, seed: number): () => Promise<Written> {
  let over = false
  const load = startLoad({
    replicas,
    operations: Number.POSITIVE_INFINITY,
    callers,
    random: createRandom(~seed),
    patience: 8000,
    enough: () => over,
  })
  return async () => {
    over = true
    const { history, operations, unanswered } = await load.finished
    const writes = history.filter(({ kind }) => kind === 'write').length
    return { operations, writes, unanswered, violations: check(history) }
  }
}

/** Milliseconds until most requests are hits, or so many that it does not matter. */
async function untilHot(steady: Steady, phase: string): Promise<number> {
  const begin = performance.now()
  do {
    steady.phase(`${phase} ${performance.now()}`)
    await wait(300)
  } while (steady.hitRatio() < 0.6 && performance.now() - begin < PATIENCE)
  return performance.now() - begin
}

/** One line for a reader. */
export function line(name: string, { before, during, after, failures, most, recovery, written }: Course): string {
  const phase = ({ requests, hits, p50, p99 }: Phase): string =>
    `${requests} requests, ${Math.round((100 * hits) / requests)} % hits, p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`
  const counted = `${failures.length} failed, recovered in ${Math.round(recovery)} ms, upstream at most ${most} at once`
  const checked = written
    ? `; ${written.operations} operations checked, ${written.writes} writes, ${written.unanswered} unanswered, ` +
      `${written.violations.length} violations`
    : ''
  return `${name}: before ${phase(before)}; during ${phase(during)}; after ${phase(after)}; ${counted}${checked}`
}
