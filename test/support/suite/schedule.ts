/** Decides which files of a run start when, by what they took in an earlier run (`times.json`; `npm test -- --record`). */

/** Seconds until the end of a file, and seconds of CPU time of it and of all processes that it started. */
export type TimesOfFiles = Readonly<Record<string, readonly [seconds: number, cpuSeconds: number]>>

export interface Places {
  readonly times: TimesOfFiles
  /** The most files at the same time. */
  readonly maxFiles: number
  readonly cores: number
}

/** Of a file without recorded times: that of most files that take less than a second. */
const UNKNOWN = [1, 0.8] as const
/** A file that waits for seconds needs a core for some moments. */
const MIN_CORES_OF_FILE = 0.1

/** Returns the files in the order of their start: those that take longest first, so that none runs alone at the end. */
export function startOrder(files: readonly string[], times: TimesOfFiles): string[] {
  const secondsOf = (file: string) => (times[file] ?? UNKNOWN)[0]
  return files.toSorted((a, b) => secondsOf(b) - secondsOf(a))
}

/** Files that compare times under load with those before it: beside other files, the machine would be what they measure. */
const WITHOUT_OTHERS: ReadonlySet<string> = new Set(['test/faults/redis.test.ts', 'test/faults/suite/overload.test.ts'])

/** Files pause and compute in turns: with as much as the cores can carry on average, cores are idle for a tenth of the time. */
const OVERCOMMIT = 1.25

/**
 * Runs the files. Many wait for processes, timeouts and browsers, others keep a core busy: files start as long as all that run
 * need little more than the cores on average. A file that does not fit lets later ones pass.
 */
export async function runInPlaces<File extends { readonly name: string }>(
  files: readonly File[],
  { times, maxFiles, cores }: Places,
  run: (file: File) => Promise<void>,
): Promise<void> {
  const waiting = [...files]
  const running = new Map<File, Promise<unknown>>()
  const coresOf = ({ name }: File) => {
    if (WITHOUT_OTHERS.has(name)) return cores * OVERCOMMIT
    const [seconds, cpuSeconds] = times[name] ?? UNKNOWN
    return Math.max(cpuSeconds / seconds, MIN_CORES_OF_FILE)
  }
  const fits = (file: File) =>
    [...running.keys(), file].reduce((sum, each) => sum + coresOf(each), 0) <= cores * OVERCOMMIT
  while (waiting.length + running.size > 0) {
    const at = running.size < maxFiles ? waiting.findIndex((file) => running.size === 0 || fits(file)) : -1
    const [file] = at < 0 ? [] : waiting.splice(at, 1)
    if (file === undefined) await Promise.race(running.values())
    else {
      const ended = run(file).finally(() => running.delete(file))
      running.set(file, ended)
    }
  }
}
