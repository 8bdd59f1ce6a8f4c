import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const register = new URL('register.mjs', import.meta.url)

/** Runs a TypeScript file as a separate process, without the loaders that tap passes to child processes. */
export function forkScript(script: URL, args: readonly string[]): ChildProcess {
  const { NODE_OPTIONS: _, ...env } = process.env
  const execArgv = [`--import=${register}`]
  return fork(fileURLToPath(script), args, { execArgv, env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}
