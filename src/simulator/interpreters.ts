/**
 * How much a real node bears (contract, wire.md): each answer that is not out of its own cache starts an interpreter,
 * 0.2 to 0.4 s of the processors, of which two share the work. Up to four at once get through 4 to 5 a second; beyond
 * that they hinder each other, and all of them together get through two.
 */

const LEAST = 0.2
const MOST = 0.4
const AT_ONCE = 4
/** Seconds of work that are done in a second: by one, by up to four, by more. */
const ONE = 1
const SOME = 1.4
const CROWD = 0.6

export interface Interpreters {
  /** Resolves when the work is done; `weight` times as much as usual. */
  run(weight: number): Promise<void>
}

interface Job {
  /** Reading of the common clock at which it has had its share. */
  readonly ends: number
  readonly done: () => void
}

/**
 * All that run have equal shares. One clock counts the work that each has had since the start, so a job is over when
 * the clock has moved on by its own work, however many come and go meanwhile. `scale`: so many times as fast.
 */
export function createInterpreters(scale: number): Interpreters {
  const jobs: Job[] = []
  let clock = 0
  let read = performance.now()
  let started = 0
  let timer: NodeJS.Timeout | undefined

  const pace = () => (scale * capacity(jobs.length)) / jobs.length
  const advance = () => {
    const now = performance.now()
    if (jobs.length > 0) clock += ((now - read) / 1000) * pace()
    read = now
  }
  const settle = () => {
    advance()
    for (let [first] = jobs; first !== undefined && first.ends <= clock + 1e-6; [first] = jobs) {
      jobs.shift()
      first.done()
    }
    clearTimeout(timer)
    const [next] = jobs
    if (next !== undefined) timer = setTimeout(settle, ((next.ends - clock) / pace()) * 1000)
  }
  return {
    run: (weight) =>
      new Promise((done) => {
        advance()
        // Evenly spread over the range, and the same in every run.
        const work = LEAST + (MOST - LEAST) * ((started++ * 0.618_033_988_75) % 1)
        const ends = clock + work * weight
        const later = jobs.findIndex((job) => job.ends > ends)
        jobs.splice(later < 0 ? jobs.length : later, 0, { ends, done })
        settle()
      }),
  }
}

function capacity(running: number): number {
  if (running === 1) return ONE
  return running <= AT_ONCE ? SOME : CROWD
}
