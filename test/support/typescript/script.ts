import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const register = new URL('register.mjs', import.meta.url)

/** A TypeScript file as a process of its own, without the loaders that tap gives to its tests and whom they start. */
export function forkScript(script: URL, args: readonly string[]): ChildProcess {
  const { NODE_OPTIONS: _, ...env } = process.env
  const execArgv = [`--import=${register}`]
  return fork(fileURLToPath(script), args, { execArgv, env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}
