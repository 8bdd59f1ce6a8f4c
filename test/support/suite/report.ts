/** What a run of the suite prints, and the times that it records. */
import { existsSync } from 'node:fs'
import { stringify } from 'yaml'
import type { FileResult } from './pool.ts'
import type { TimesOfFiles } from './schedule.ts'
import type { Failure } from './worker.ts'

const FILES_SHOWN = 15
const MAX_LINES_OF_FAILURE = 60

export function lineOf({ name, seconds, failures }: FileResult): string {
  return `${failures.length === 0 ? 'ok' : 'FAILED'} ${seconds.toFixed(1).padStart(6)} s  ${name}`
}

/** Returns the tests around a failure, its position in the source, and what tap knows of it. */
export function textOf({ test, diagnostics }: Failure): string {
  const { at, stack, ...others } = diagnostics ?? {}
  const { fileName, lineNumber, columnNumber } = (at ?? {}) as Readonly<Record<string, unknown>>
  const position = fileName === undefined ? {} : { at: `${fileName}:${lineNumber}:${columnNumber}` }
  const known = { ...position, ...others, ...(stack !== undefined && stack !== '' && { stack }) }
  const lines = Object.keys(known).length === 0 ? [] : stringify(known, { lineWidth: 0 }).trimEnd().split('\n')
  return [`not ok - ${test}`, ...lines.slice(0, MAX_LINES_OF_FAILURE).map((line) => `    ${line}`)].join('\n')
}

/** Returns the files that take most CPU time, all failures, and what the run took. */
export function summaryOf(results: readonly FileResult[], left: readonly Failure[], cpuSeconds: number): string[] {
  const failures = [...results.flatMap((result) => result.failures), ...left]
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  const costly = results.toSorted((a, b) => b.cpuSeconds - a.cpuSeconds).slice(0, FILES_SHOWN)
  return [
    'The files with most CPU time, with their processes:',
    ...costly.map((result) => `${result.cpuSeconds.toFixed(1).padStart(8)} s in ${lineOf(result)}`),
    ...failures.map(textOf),
    `${results.length} files in ${(performance.now() / 1000).toFixed(0)} s, CPU time with all processes ${cpuSeconds.toFixed(0)} s`,
    // Continuous integration reads this line.
    `${passed} passed, ${failures.length} failed`,
  ]
}

/** A file that takes less has no row: its times are those of an unknown file. */
const MIN_RECORDED_SECONDS = 1

/** Returns the text of `times.json` with the times of these files, and the times of others that were recorded before. */
export function timesToRecord(
  results: readonly Pick<FileResult, 'name' | 'seconds' | 'cpuSeconds'>[],
  before: TimesOfFiles,
): string {
  const isRun = new Set(results.map(({ name }) => name))
  const others = Object.entries(before).filter(([name]) => !isRun.has(name) && existsSync(name))
  const measured = results
    .map(({ name, seconds, cpuSeconds }) => [name, [seconds, cpuSeconds]] as const)
    .filter(([, [seconds]]) => seconds >= MIN_RECORDED_SECONDS)
  const rows = [...others, ...measured]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, [seconds, cpuSeconds]]) => `  "${name}": [${seconds.toFixed(1)}, ${cpuSeconds.toFixed(1)}]`)
  return `{\n${rows.join(',\n')}\n}\n`
}
