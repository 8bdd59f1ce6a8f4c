/** How long work blocks the event loop. */
import { readFileSync } from 'node:fs'

/**
 * Runs the work. Returns the longest turn of the event loop until it is done, in milliseconds of CPU time of its thread:
 * other processes do not count. They are those of the machine for which the bounds are stated: where the reference work takes
 * longer at this moment, the turn counts as so much shorter.
 */
export async function measureTurns(work: () => unknown): Promise<number> {
  let longest = 0
  let before = cpuTime()
  let isDone = false
  const measured = new Promise<void>((resolve) => {
    const turn = () => {
      const now = cpuTime()
      longest = Math.max(longest, now - before)
      before = now
      if (isDone) resolve()
      else setImmediate(turn)
    }
    setImmediate(turn)
  })
  // A new turn, so that the time of earlier work does not count.
  await new Promise((resolve) => setImmediate(resolve))
  try {
    await work()
    isDone = true
    await measured
    return longest < MIN_SCALED_MS ? longest : longest / slowness()
  } finally {
    isDone = true
  }
}

/** Milliseconds between two samples of a process that is watched. A turn looks longer by up to this much. */
const WATCH_INTERVAL_MS = 1

/**
 * Watches the turns of a process while it works and waits, at a hundredth of a core. Returns the function that returns the longest
 * one since its last call, in milliseconds of CPU time.
 */
export function watchTurns(): () => number {
  let longest = 0
  let before = cpuTime()
  setInterval(() => {
    const now = cpuTime()
    longest = Math.max(longest, now - before)
    before = now
  }, WATCH_INTERVAL_MS).unref()
  return () => {
    const found = longest
    longest = 0
    return found
  }
}

/** Shorter turns exceed no bound. */
const MIN_SCALED_MS = 8
/** What the reference work takes on the machine for which the bounds are stated: two busy cores of 2.6 GHz, Node.js 20. */
const REFERENCE_MS = 28
const REFERENCE_ROWS = JSON.stringify(
  Array.from({ length: 2000 }, (_, at) => ({
    id: `${at}`.padStart(7, '0'),
    name: 'x'.repeat(100),
    group: ['default'],
  })),
)

/** Returns how many times as long as there the reference work takes here and now, of the best of three; at least 1. */
function slowness(): number {
  const work = () => {
    for (let run = 0; run < 20; run += 1) JSON.stringify(JSON.parse(REFERENCE_ROWS))
  }
  return Math.max(1, Math.min(measureCpu(work), measureCpu(work), measureCpu(work)) / REFERENCE_MS)
}

/**
 * Garbage is collected in some turn, the first runs compile, and busy cores are slower for seconds: a turn too long is so
 * each time.
 */
export const MAX_RUNS = 30

/** Runs the work until no turn takes longer than the limit, at most `MAX_RUNS` times. Returns the longest turn of each run. */
export async function measureRuns(work: () => unknown, limitMs: number): Promise<readonly number[]> {
  const runs: number[] = []
  while (runs.length < MAX_RUNS && !runs.some((longest) => longest < limitMs)) {
    runs.push(await measureTurns(work))
  }
  return runs
}

/** Runs the work in the same way. Returns the longest turn of the best run. */
export async function measureBestRun(work: () => unknown, limitMs: number): Promise<number> {
  return Math.min(...(await measureRuns(work, limitMs)))
}

/** Returns the milliseconds of CPU time that synchronous work takes. */
export function measureCpu(work: () => unknown): number {
  const before = cpuTime()
  work()
  return cpuTime() - before
}

/** The first number is the CPU time of the main thread in nanoseconds. */
const SCHEDULER_STATISTICS = `/proc/self/task/${process.pid}/schedstat`

/** Returns milliseconds. Threads that collect garbage count only where the statistics of the scheduler are missing. */
function cpuTime(): number {
  try {
    return Number(readFileSync(SCHEDULER_STATISTICS, 'utf8').split(' ')[0]) / 1e6
  } catch {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
}
