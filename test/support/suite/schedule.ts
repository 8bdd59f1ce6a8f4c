/** Decides which files of a run start when, by what they took in an earlier run (`times.json`; `npm test -- --record`). */
import { availableParallelism } from 'node:os'

/** Seconds until the end of a file, and seconds of CPU time of it and its child processes. */
export type TimesOfFiles = Readonly<Record<string, readonly [seconds: number, cpuSeconds: number]>>

export interface ScheduleOptions {
  readonly times: TimesOfFiles
  /** The most files at the same time. */
  readonly maxFiles: number
  readonly cores?: number
}

export interface Schedule {
  /** Calls `start` when the file may start. Files wait in the order of these calls. */
  add(file: string, start: () => void): void
  end(file: string): void
}

/** Of a file without recorded times. */
const UNKNOWN = [1, 1] as const
/** A file that waits for seconds needs a core for some moments. */
const MIN_CORES_OF_FILE = 0.1

/** Returns the files in the order of their start: those that take longest first, so that none runs alone at the end. */
export function startOrder(files: readonly string[], times: TimesOfFiles): string[] {
  const secondsOf = (file: string) => (times[file] ?? UNKNOWN)[0]
  return files.toSorted((a, b) => secondsOf(b) - secondsOf(a))
}

/**
 * Many files wait for processes, timeouts and browsers, others keep a core busy. Files start as long as all that run need no
 * more than the cores on average. A file that does not fit lets later ones pass.
 */
export function createSchedule({ times, maxFiles, cores = availableParallelism() }: ScheduleOptions): Schedule {
  const waiting: { readonly file: string; readonly start: () => void }[] = []
  const running = new Set<string>()
  const coresOf = (file: string) => {
    const [seconds, cpuSeconds] = times[file] ?? UNKNOWN
    return Math.max(cpuSeconds / seconds, MIN_CORES_OF_FILE)
  }
  const fits = (file: string) => {
    const load = [...running, file].reduce((sum, each) => sum + coresOf(each), 0)
    return running.size === 0 || load <= cores
  }
  const startNext = () => {
    while (running.size < maxFiles) {
      const at = waiting.findIndex(({ file }) => fits(file))
      const [next] = at < 0 ? [] : waiting.splice(at, 1)
      if (next === undefined) return
      running.add(next.file)
      next.start()
    }
  }
  return {
    add: (file, start) => {
      waiting.push({ file, start })
      startNext()
    },
    end: (file) => {
      running.delete(file)
      startNext()
    },
  }
}
