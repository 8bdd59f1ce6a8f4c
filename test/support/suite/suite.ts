/** Runs test files, prints what failed, and leaves no process behind: also if a signal ends the run. */
import { type FileResult, Pool, type PoolOptions } from './pool.ts'
import { endWithSignals, markThisProcess } from './processes.ts'
import { lineOf, summaryOf, textOf } from './report.ts'
import { type Places, runInPlaces } from './schedule.ts'
import type { FileToRun } from './worker.ts'

export interface Suite extends Places, PoolOptions {
  /** In the order of their start. */
  readonly files: readonly FileToRun[]
}

/** Resolves with the results of the files. Sets the exit code of this process to 1 if a file failed or left a process. */
export async function runSuite({ files, ...options }: Suite): Promise<FileResult[]> {
  const mark = await markThisProcess()
  if (mark === undefined) console.log('No /proc or no prlimit: the run does not look for processes that tests leave.')
  endWithSignals(mark)
  const pool = new Pool(mark, options)
  const results: FileResult[] = []
  await runInPlaces(files, options, async (file) => {
    const result = await pool.run(file)
    results.push(result)
    for (const line of [lineOf(result), ...result.failures.map(textOf)]) console.log(line)
  })
  const left = await pool.close()
  for (const line of summaryOf(results, left, pool.cpuSeconds)) console.log(line)
  if (left.length > 0 || results.some(({ failures }) => failures.length > 0)) process.exitCode = 1
  return results
}
