/** Runs a load before, during and after a fault, and measures it. */
import { setTimeout as wait } from 'node:timers/promises'
import { check, type Violation } from './coherence/history.ts'
import { startLoad } from './coherence/load.ts'
import { createRandom } from './coherence/random.ts'
import { agentReads } from './redis-load.ts'
import type { Stage } from './redis-stage.ts'
import { type Phase, type RunningLoad, startSteadyLoad } from './suite/load.ts'
import type { StarvationMeter } from './suite/starvation.ts'

export interface CourseResult {
  readonly before: Phase
  readonly during: Phase
  readonly after: Phase
  /** Of all phases, including those between the measured ones. */
  readonly failures: readonly string[]
  /** Milliseconds from the end of the fault until most requests were hits, without those without a processor. */
  readonly recovery: number
  /** Maximum of concurrent calls at the upstream. */
  readonly maxCalls: number
  /** Absent if the course had no writers. */
  readonly written?: CheckedWrites
}

/** Reads and writes of a few registers whose history was checked. */
export interface CheckedWrites {
  readonly operations: number
  readonly writes: number
  /** Operations without a response, or with one that docs/cache.md does not name for the fault. */
  readonly unanswered: number
  /** Writes that were not sent (930) or not confirmed (943), because Redis came back later than they wait. */
  readonly refused: number
  readonly violations: readonly Violation[]
}

export interface CourseOptions {
  readonly rate: number
  /** Milliseconds of the phases before and after. */
  readonly time: number
  readonly seed: number
  readonly meter?: StarvationMeter
  /** Number of callers that read and write besides the load; default 0. */
  readonly writers?: number
  /**
   * How often the phases before and after are measured again if they are not mostly hits; default 0. On a busy machine,
   * Redis can miss its timeouts at any time, which is not what the fault did.
   */
  readonly repetitions?: number
}

/** More than the half that tests require: requests that are in flight at the end of a phase are mostly misses. */
const HOT_RATIO = 0.65

/** After this time, the cache has not recovered, even on a busy machine. */
const MAX_WAIT_MS = 20_000

/** `fault` must leave Redis in its normal state. */
export async function runCourse(
  stage: Stage,
  fault: () => Promise<void>,
  options: CourseOptions,
): Promise<CourseResult> {
  const { upstream, replicas } = stage
  const { rate, time, seed, meter, writers = 0, repetitions = 0 } = options
  const urls = replicas.map(({ url }) => url)
  const steady = startSteadyLoad({ rate, draw: agentReads(urls, createRandom(seed)), ...(meter && { meter }) })
  const writing = writers === 0 ? undefined : startWriting(urls, writers, seed)
  const measureHits = async (name: string): Promise<HotPhase> => {
    const elapsed = await waitUntilHot(steady, `until ${name}`)
    for (let repetition = 0; ; repetition += 1) {
      const phase = `${name} ${repetition}`
      steady.phase(phase)
      // A measurement: the wait is the length of the phase.
      await wait(time)
      if (repetition >= repetitions || hitRatio(steady.current()) >= HOT_RATIO) return { phase, elapsed }
      await waitUntilHot(steady, `until ${name} again`)
    }
  }
  await waitUntilHot(steady, 'warming')
  await upstream.report()
  const beforeFault = await measureHits('before')
  steady.phase('during')
  await fault()
  const faultEnd = performance.now()
  const afterFault = await measureHits('after')
  const { elapsed } = afterFault
  const recovery = elapsed - (meter?.within(faultEnd, faultEnd + elapsed) ?? 0)
  const written = await writing?.()
  const phases = await steady.stop()
  const { [beforeFault.phase]: before, during, [afterFault.phase]: after } = phases
  const { maxConcurrent: maxCalls } = await upstream.report()
  if (!before || !during || !after) throw new Error('a phase is missing')
  const failures = Object.values(phases).flatMap((phase) => phase.failures)
  return { before, during, after, failures, maxCalls, recovery, ...(written && { written }) }
}

interface HotPhase {
  /** The name of the phase in which the hits were measured. */
  readonly phase: string
  /** Milliseconds until most requests were hits for the first time. */
  readonly elapsed: number
}

/** Returns a function that ends the load and returns its result. */
function startWriting(replicas: readonly string[], callers: number, seed: number): () => Promise<CheckedWrites> {
  let over = false
  let refused = 0
  const load = startLoad({
    replicas,
    operations: Number.POSITIVE_INFINITY,
    callers,
    random: createRandom(~seed),
    // Longer than the cores are ever busy: no course is about callers that give up.
    patience: 60_000,
    enough: () => over,
    onOutcome: ({ method, status, text }) => {
      if (method === 'PUT' && status >= 500 && /"error":9(?:30|43)\b/.test(text)) refused += 1
    },
  })
  return async () => {
    over = true
    const { history, operations, unanswered } = await load.finished
    const writes = history.filter(({ kind }) => kind === 'write').length
    return { operations, writes, unanswered: unanswered - refused, refused, violations: check(history) }
  }
}

/**
 * Waits until most requests are hits, in two samples one after the other: while the nodes are slow, hits are answered in
 * the first one, and the misses that were sent with them only in the second. Returns the milliseconds until the first.
 */
async function waitUntilHot(steady: RunningLoad, phase: string): Promise<number> {
  const begin = performance.now()
  let hotAfter: number | undefined
  for (;;) {
    steady.phase(`${phase} ${performance.now()}`)
    await wait(300)
    const elapsed = performance.now() - begin
    const isHot = hitRatio(steady.current()) >= HOT_RATIO
    if ((isHot && hotAfter !== undefined) || elapsed > MAX_WAIT_MS) return hotAfter ?? elapsed
    hotAfter = isHot ? elapsed : undefined
  }
}

export function hitRatio({ hits, requests }: Phase): number {
  return hits / Math.max(1, requests)
}

/** Returns the result as one line of text. */
export function summarize(
  name: string,
  { before, during, after, failures, maxCalls, recovery, written }: CourseResult,
): string {
  const phase = ({ requests, hits, p50, p99 }: Phase): string =>
    `${requests} requests, ${Math.round((100 * hits) / requests)} % hits, p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`
  const counted = `${failures.length} failed, recovered in ${Math.round(recovery)} ms, upstream at most ${maxCalls} at once`
  const checked = written
    ? `; ${written.operations} operations checked, ${written.writes} writes (${written.refused} refused), ${written.unanswered} unanswered, ` +
      `${written.violations.length} violations`
    : ''
  return `${name}: before ${phase(before)}; during ${phase(during)}; after ${phase(after)}; ${counted}${checked}`
}
