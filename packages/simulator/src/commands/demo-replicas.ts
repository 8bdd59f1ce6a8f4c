/** What a demo with several replicas starts besides its own process: a Redis, and the other replicas. */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { CommandError } from '../../../../src/cli/terminal.ts'
import { formatLine } from '../../../../src/server/logs.ts'
import type { Urls } from '../../../../src/server.ts'
import { freePort } from '../free-port.ts'

export interface Started<T> {
  readonly value: T
  stop(): Promise<void>
}

/** Redis without persistence is ready within a second; a busy machine needs longer. */
const REDIS_READY_LIMIT_MS = 30_000
const PROGRAM = fileURLToPath(new URL('../cli.js', import.meta.url))

/**
 * Starts the installed `redis-server` on 127.0.0.1, without persistence. Resolves to its URL. `limit`: milliseconds until it
 * must accept connections.
 */
export async function startRedis(folder: string, limit = REDIS_READY_LIMIT_MS): Promise<Started<string>> {
  const port = await freePort()
  const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--dir', folder]
  const child = start('redis-server', settings)
  try {
    const ready = untilLine(child, /Ready to accept connections/)
    await Promise.race([ready, once(child, 'error').then(fail), failAfter(limit, 'redis-server is not ready')])
  } catch (error) {
    child.kill('SIGKILL')
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    throw new CommandError(
      'redis-server is not installed; install it (on Debian: apt-get install redis-server), or omit --redis and --replicas',
    )
  }
  return { value: `redis://127.0.0.1:${port}`, stop: () => stop(child) }
}

const PORT_STEP = 10

/**
 * Returns the ports of each replica, in the order of `first`, those of the first replica. Each further replica has the first
 * ports above that no other listener has. 0 stays: any free port.
 */
export function portsOfReplicas(first: readonly number[], replicas: number): readonly (readonly number[])[] {
  const used = new Set<number>()
  const take = (port: number): number => {
    if (port === 0) return 0
    if (used.has(port)) return take(port + PORT_STEP)
    used.add(port)
    return port
  }
  return Array.from({ length: replicas }, () => first.map(take))
}

/**
 * Starts a replica as a separate process with a configuration file. Its log lines begin with its name. Like the first
 * replica, it ignores the environment.
 */
export async function startReplica(name: string, file: string): Promise<Started<Urls>> {
  const child = start(process.execPath, [PROGRAM, 'start', '--config', file], { env: {} })
  const line = await untilLine(child, /"msg":"listening"/, (each) =>
    process.stdout.write(`${name}: ${formatLine(each)}`),
  )
  const { url, secondUrl, operationsUrl } = JSON.parse(line) as Urls
  return { value: { url, operationsUrl, ...(secondUrl !== undefined && { secondUrl }) }, stop: () => stop(child) }
}

/** Ctrl-C in a terminal ends only the demo, which ends these processes in the right order. */
function start(command: string, args: readonly string[], options: Pick<SpawnOptions, 'env'> = {}): ChildProcess {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

function fail([error]: unknown[]): never {
  throw error
}

/** Rejects after `ms` milliseconds. */
async function failAfter(ms: number, what: string): Promise<never> {
  await wait(ms, undefined, { ref: false })
  throw new CommandError(`${what} after ${ms / 1000} s`)
}

/** Resolves to the first line of output that matches. Rejects if the process ends before. `onLine` receives all lines. */
function untilLine(child: ChildProcess, pattern: RegExp, onLine?: (line: string) => void): Promise<string> {
  const { stdout } = child
  if (stdout === null) throw new Error('the process has no standard output')
  return new Promise((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      onLine?.(line)
      if (pattern.test(line)) resolve(line)
    })
    child.once('exit', (code) => reject(new CommandError(`${child.spawnargs.join(' ')} ended with exit code ${code}`)))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}
