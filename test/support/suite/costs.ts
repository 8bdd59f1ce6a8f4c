/** What a run of the suite costs: it is printed at the end, because the time of a run depends on what else the machine does. */
import { existsSync, readFileSync } from 'node:fs'
import type { Base } from 'tap'
import type { TimesOfFiles } from './schedule.ts'

const FILES_SHOWN = 15
/** Linux counts the times of /proc in hundredths of a second. */
const TICKS_PER_SECOND = 100

/** Returns the files that take most time and most CPU time, and the CPU time of this process and of all ended child processes. */
export function costsOf(
  files: readonly Pick<Base, 'name' | 'time'>[],
  cpuSecondsOf: ReadonlyMap<string, number>,
): string[] {
  const times = files.map(({ name, time }) => [name, time / 1000] as const)
  return [
    'The slowest files:',
    ...largest(times),
    'The files with most CPU time, with their processes:',
    ...largest([...cpuSecondsOf]),
    `CPU time of the run: ${cpuSeconds()?.toFixed(0) ?? 'unknown'} s`,
  ]
}

/** A file that takes less has no row: its times are those of an unknown file. */
const MIN_RECORDED_SECONDS = 1

/** Returns the text of `times.json` with the times of these files, and the times of others that were recorded before. */
export function timesToRecord(
  files: readonly Pick<Base, 'name' | 'time'>[],
  cpuSecondsOf: ReadonlyMap<string, number>,
  before: TimesOfFiles,
): string {
  const isRun = new Set(files.map(({ name }) => name))
  const others = Object.entries(before).filter(([name]) => !isRun.has(name) && existsSync(name))
  const measured = files.flatMap(({ name, time }) => {
    const seconds = time / 1000
    return seconds < MIN_RECORDED_SECONDS ? [] : [[name, [seconds, cpuSecondsOf.get(name) ?? seconds]] as const]
  })
  const rows = [...others, ...measured]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, [seconds, cpuSeconds]]) => `  "${name}": [${seconds.toFixed(1)}, ${cpuSeconds.toFixed(1)}]`)
  return `{\n${rows.join(',\n')}\n}\n`
}

function largest(files: readonly (readonly [name: string, seconds: number])[]): string[] {
  const sorted = files.toSorted(([, a], [, b]) => b - a).slice(0, FILES_SHOWN)
  return sorted.map(([name, seconds]) => `${seconds.toFixed(1).padStart(7)} s  ${name}`)
}

/**
 * Returns the CPU time of this process and of its child processes that have ended: fields 14 to 17 of
 * https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html; none on other systems.
 */
export function cpuSeconds(): number | undefined {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
  } catch {
    return
  }
}
