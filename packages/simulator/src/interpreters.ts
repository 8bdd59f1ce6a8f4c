/**
 * The capacity of a real node: each response that is not in its own cache starts an interpreter and takes about 0.4 s of
 * two processors. Up to four at once complete 4 requests a second; more than four slow each other down to two a second
 * in total. All times pass on timers: a simulated node needs no processor time for its work.
 */

/** The work of a call varies by this part of the mean in both directions. */
const WORK_SPREAD = 0.25
/** Seconds of work done per second by one interpreter, by up to `atOnce`, and by more. */
const ONE = 1
const SOME = 1.6
const CROWD = 0.8

export interface InterpreterOptions {
  /** Multiplies the speed. */
  readonly scale: number
  /** Seconds of processor time of a usual call, on average. */
  readonly work: number
  /** The number of interpreters beyond which they slow each other down. */
  readonly atOnce: number
}

/** Time that passes; tests give their own. */
export interface Time {
  /** Milliseconds, monotonic. */
  readonly now: () => number
  /** Runs `run` once after this number of milliseconds, unless the returned function is called before. */
  readonly runAfter: (run: () => void, milliseconds: number) => () => void
}

const PROCESS_TIME: Time = {
  now: () => performance.now(),
  runAfter: (run, milliseconds) => {
    const timer = setTimeout(run, milliseconds).unref()
    return () => clearTimeout(timer)
  },
}

export interface Interpreters {
  /** Resolves when the work is done; `weight` multiplies the usual amount. */
  run(weight: number): Promise<void>
}

interface Job {
  /** The value of the common clock at which the job has received its share. */
  readonly ends: number
  readonly done: () => void
}

/**
 * All running jobs have equal shares. One clock counts the work that each job has received since the start, so a job is
 * complete when the clock has advanced by the job's work, independent of other jobs.
 */
export function createInterpreters(
  { scale, work, atOnce }: InterpreterOptions,
  { now, runAfter }: Time = PROCESS_TIME,
): Interpreters {
  const jobs: Job[] = []
  let clock = 0
  let readAt = now()
  let started = 0
  let cancel = () => {}

  const pace = () => (scale * throughput(jobs.length, atOnce)) / jobs.length
  const advance = () => {
    const time = now()
    if (jobs.length > 0) clock += ((time - readAt) / 1000) * pace()
    readAt = time
  }
  const settle = () => {
    advance()
    for (let [first] = jobs; first !== undefined && first.ends <= clock + 1e-6; [first] = jobs) {
      jobs.shift()
      first.done()
    }
    cancel()
    const [next] = jobs
    if (next !== undefined) cancel = runAfter(settle, ((next.ends - clock) / pace()) * 1000)
  }
  return {
    run: (weight) =>
      new Promise((done) => {
        advance()
        // Evenly distributed over the range, and the same in every run.
        const share = 1 - WORK_SPREAD + 2 * WORK_SPREAD * ((started++ * 0.618_033_988_75) % 1)
        const ends = clock + share * work * weight
        const later = jobs.findIndex((job) => job.ends > ends)
        jobs.splice(later < 0 ? jobs.length : later, 0, { ends, done })
        settle()
      }),
  }
}

function throughput(running: number, atOnce: number): number {
  if (running === 1) return ONE
  return running <= atOnce ? SOME : CROWD
}
