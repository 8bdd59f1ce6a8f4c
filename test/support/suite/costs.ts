/** What a run of the suite costs: it is printed at the end, because the time of a run depends on what else the machine does. */
import { readFileSync } from 'node:fs'
import type { Base } from 'tap'

const SLOWEST_FILES = 10
/** Linux counts the times of /proc in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** Returns the slowest files, and the CPU time of this process and of all child processes that have ended. */
export function costsOf(files: readonly Pick<Base, 'name' | 'time'>[]): string[] {
  const slowest = files.toSorted((a, b) => b.time - a.time).slice(0, SLOWEST_FILES)
  const rows = slowest.map(({ name, time }) => `${(time / 1000).toFixed(1).padStart(7)} s  ${name}`)
  return ['The slowest files:', ...rows, `CPU time of the run: ${cpuSeconds()?.toFixed(0) ?? 'unknown'} s`]
}

/** Fields 14 to 17 of https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html; none on other systems. */
function cpuSeconds(): number | undefined {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
  } catch {
    return
  }
}
