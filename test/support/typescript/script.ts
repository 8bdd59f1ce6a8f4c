import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const register = new URL('register.mjs', import.meta.url)

/** Runs a TypeScript file as a separate process, without the loaders that tap passes to child processes. */
export function forkScript(script: URL, args: readonly string[]): ChildProcess {
  const { NODE_OPTIONS: _, ...env } = process.env
  const runnable = runnableOf(script)
  const execArgv = runnable === script ? [`--import=${register}`] : []
  return fork(fileURLToPath(runnable), args, { execArgv, env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}

/** Returns the compiled file beside a TypeScript file, which a run of the whole suite has; else the file itself. */
export function runnableOf(script: URL): URL {
  const compiled = new URL(script.href.replace(/\.ts$/, '.js'))
  return existsSync(compiled) ? compiled : script
}
