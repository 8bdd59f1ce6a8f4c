/** Runs the suite of another checkout and that of this one, and compares what they take (`npm test -- --than FOLDER`). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createMeter, endWithSignals, markThisProcess, processesWith } from './processes.ts'

const SAMPLE_INTERVAL_MS = 1000
const RUNNER = ['--import=./test/support/typescript/register.mjs', 'test/support/suite/run.ts']

/** Builds the other checkout. Resolves with the exit code of the run of this one. */
export async function runBoth(other: string, args: readonly string[]): Promise<number> {
  const mark = await markThisProcess()
  if (mark === undefined) throw new Error('--than needs /proc and prlimit')
  endWithSignals(mark)
  await run(other, 'npm', ['run', 'build'])
  const before = await measure(mark, other, args)
  const now = await measure(mark, '.', args)
  for (const [name, of] of [['time', 'seconds'] as const, ['CPU time', 'cpuSeconds'] as const]) {
    const ratio = (now[of] / before[of]).toFixed(2)
    console.log(`${name}: ${before[of].toFixed(0)} s in ${other}, ${now[of].toFixed(0)} s here, ratio ${ratio}`)
  }
  return now.code
}

async function run(cwd: string, command: string, args: readonly string[]): Promise<number> {
  const [code] = await once(spawn(command, args, { cwd, stdio: 'inherit' }), 'exit')
  return code ?? 1
}

/** Measures a run with all its processes, in the same way for each checkout. */
async function measure(mark: string, folder: string, args: readonly string[]) {
  const meter = createMeter()
  meter(processesWith(mark))
  let cpuSeconds = 0
  const sample = () => {
    cpuSeconds += meter(processesWith(mark))
  }
  const sampling = setInterval(sample, SAMPLE_INTERVAL_MS)
  const start = performance.now()
  const code = await run(folder, process.execPath, [...RUNNER, ...args])
  const seconds = (performance.now() - start) / 1000
  clearInterval(sampling)
  sample()
  console.log(`${folder}: exit code ${code} after ${seconds.toFixed(0)} s`)
  return { code, seconds, cpuSeconds }
}
