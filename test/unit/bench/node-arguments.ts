import { fileURLToPath } from 'node:url'
import { runnableOf } from '../../support/typescript/script.ts'

/** Returns the arguments of Node that run a script: compiled in a run of the whole suite, which saves most of its start. */
export function nodeArguments(file: string): readonly string[] {
  const source = new URL(`../../../${file}`, import.meta.url)
  const runnable = runnableOf(source)
  return runnable === source ? ['--import=./test/support/typescript/register.mjs', file] : [fileURLToPath(runnable)]
}
