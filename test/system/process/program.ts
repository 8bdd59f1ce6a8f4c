/** The built program as a separate process (`npm test` builds before it tests). */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { forkScript } from '../../support/typescript/script.ts'
import type { CommandToRun, EndOfCommand } from './command-host.ts'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly out: string
  readonly err: string
}

export interface Running {
  readonly child: ChildProcess
  readonly output: () => string
  readonly ended: Promise<Ended>
  /** Resolves when the output matches; rejects with the output if the program ends before. */
  until(pattern: RegExp): Promise<RegExpExecArray>
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>
  /** Standard input. */
  readonly input?: string
  /** Options of Node. */
  readonly node?: readonly string[]
  readonly cwd?: string
  /** The program of Node; default: that of this process. */
  readonly executable?: string
  /** The installed program; default: the built one. */
  readonly cli?: string
  /** Numbers of user and group; default: those of this process. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** Returns the environment of this process without settings of the edge and of Node, plus `env`. */
function environmentWith(env: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('EDGE_') && name !== 'NODE_OPTIONS')
  return { ...Object.fromEntries(own), ...env }
}

export function program(
  t: { teardown(fn: () => unknown): unknown },
  args: readonly string[],
  options: ProgramOptions = {},
): Running {
  const { env = {}, input = '', node = [], cwd, user } = options
  const cli = options.cli ?? new URL('../../../dist/cli.js', import.meta.url).pathname
  const child = spawn(options.executable ?? process.execPath, [...node, cli, ...args], {
    env: environmentWith(env),
    ...(cwd !== undefined && { cwd }),
    ...user,
  })
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  child.stdin?.on('error', () => undefined).end(input)
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, out, err }))
  let over = false
  ended.finally(() => {
    over = true
  })
  const until = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(out + err)
      if (found) return found
      if (over) throw new Error(`ended without ${pattern}: ${out}${err}`)
      await wait(20)
    }
  }
  return { child, output: () => out + err, ended, until }
}

/** Runs the program until it ends: a command that needs no separate process runs in one that has run others. */
export function result(...call: Parameters<typeof program>): Promise<Ended> {
  const [t, args, { env = {}, input = '', ...own } = {}] = call
  if (Object.keys(own).length > 0 || !SHARING.has(args[0] ?? '')) return program(...call).ended
  return resultInHost(t, { args, env: environmentWith(env), input })
}

const SHARING: ReadonlySet<string> = new Set([
  ...['audit', 'check', 'config', 'doctor', 'drain', 'explain', 'man'],
  ...['openapi', 'problems', 'purge', 'routes', 'token', 'undrain', 'user'],
])

/** Processes that wait for a command. They end with this process, which they do not keep alive. */
const idleHosts: ChildProcess[] = []

async function resultInHost(t: Parameters<typeof program>[0], command: CommandToRun): Promise<Ended> {
  const host = idleHosts.pop() ?? forkScript(new URL('command-host.ts', import.meta.url), [])
  let isRunning = true
  t.teardown(() => isRunning && host.kill('SIGKILL'))
  host.ref()
  host.channel?.ref()
  host.send(command)
  const ended = new AbortController()
  const [end] = await Promise.race([once(host, 'message', ended), once(host, 'exit', ended)])
  ended.abort()
  isRunning = false
  if (typeof end !== 'object') throw new Error(`the process of ${command.args.join(' ')} ended: ${end}`)
  const { isReusable, ...found } = end as EndOfCommand
  host.unref()
  host.channel?.unref()
  if (isReusable) idleHosts.push(host)
  else host.disconnect()
  return { ...found, signal: null }
}
