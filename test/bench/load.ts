/** Generates load on one server and measures requests per second and the server's CPU time per request. */
import { execFile, spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { checkTotals, type ExpectedResponse, type Totals, verified } from './verify.ts'

export interface Target {
  /** The name of the case, for error messages. */
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The processes whose CPU time is measured. */
  readonly pid: number
  readonly connections?: number
  /** Every counted response. */
  readonly expected: ExpectedResponse
}

type LoadRequest = Required<Omit<Target, 'pid' | 'name'>>

export interface Sample {
  /** Responses per second. */
  readonly rate: number
  /** Microseconds of CPU time per response, including child processes. */
  readonly cpu: number
}

const run = promisify(execFile)
export const CONNECTIONS = 64
/** USER_HZ of Linux. */
const TICK = 10_000

export const has = (command: string): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
const wrk = has('wrk')
export const generator = wrk ? 'wrk' : 'autocannon'

/** Pins a command to one core if possible. */
export function pinned(core: number, command: readonly string[]): readonly string[] {
  return has('taskset') && spawnSync('taskset', ['-c', String(core), 'true']).status === 0
    ? ['taskset', '-c', String(core), ...command]
    : command
}

/** Throws WrongResponseError if the server returns another response than the expected one before, during or after the run. */
export async function load(target: Target, seconds: number): Promise<Sample> {
  const { name, url, headers, pid, expected, connections = CONNECTIONS } = target
  return verified(target, async (sent) => {
    const before = await cpuOf(pid)
    const began = performance.now()
    const request = { url, headers, connections, expected }
    const totals = wrk ? await byWrk(request, seconds) : await byAutocannon(request, seconds)
    const took = (performance.now() - began) / 1000
    const used = (await cpuOf(pid)) - before
    checkTotals(name, totals, sent)
    const { responses } = totals
    return { rate: responses / Math.max(seconds, Math.min(took, seconds + 1)), cpu: used / responses }
  })
}

const UNITS: Readonly<Record<string, number>> = { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 }

async function byWrk({ url, headers, connections }: LoadRequest, seconds: number): Promise<Totals> {
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const [file = '', ...args] = pinned(1, ['wrk', '-t1', `-c${connections}`, `-d${seconds}`, ...named, url])
  const { stdout } = await run(file, args)
  const number = (pattern: RegExp) => Number(pattern.exec(stdout)?.[1] ?? 0)
  const [, amount, unit = ''] = /, ([\d.]+)([KMG]?B) read/.exec(stdout) ?? []
  // Of the statuses, wrk counts those of errors only; 200 and 304 differ in their bytes.
  const others = number(/Non-2xx or 3xx responses: (\d+)/)
  return {
    responses: number(/(\d+) requests in/),
    failures: others + number(/Socket errors: connect (\d+)/),
    bytes: Number(amount) * (UNITS[unit] ?? Number.NaN),
  }
}

async function byAutocannon({ url, headers, connections, expected }: LoadRequest, seconds: number): Promise<Totals> {
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const command = ['npx', 'autocannon', '-j', '-c', String(connections), '-d', String(seconds), ...named, url]
  const [file = '', ...args] = pinned(1, command)
  const { stdout } = await run(file, args, { maxBuffer: 1 << 24 })
  const result = JSON.parse(stdout) as {
    readonly errors: number
    readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>
    readonly throughput: { readonly total: number }
  }
  const counts = Object.entries(result.statusCodeStats).map(([status, { count }]) => [Number(status), count] as const)
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  const right = counts.find(([status]) => status === expected.status)?.[1] ?? 0
  return { responses: right, failures: all - right + result.errors, bytes: result.throughput.total }
}

/** Returns the CPU time in microseconds of a process and its children; 0 without /proc. */
export async function cpuOf(pid: number): Promise<number> {
  const parents = new Map<number, { parent: number; ticks: number }>()
  for (const name of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(name)) continue
    const fields = (await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')).replace(/^.*\) /s, '').split(' ')
    parents.set(Number(name), { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) })
  }
  let sum = 0
  for (const [process, { ticks }] of parents) if (isUnder(parents, process, pid)) sum += ticks
  return sum * TICK
}

function isUnder(parents: ReadonlyMap<number, { readonly parent: number }>, process: number, root: number): boolean {
  for (let at: number | undefined = process; at !== undefined && at > 1; at = parents.get(at)?.parent)
    if (at === root) return true
  return false
}
