/**
 * Generates load on one server and measures requests per second and the server's CPU time per request. The measured
 * time begins after the connections are open, so that it contains no TLS handshake.
 */
import { execFile, spawnSync } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { checkTotals, type ExpectedResponse, type SentResponse, type Totals, verified } from './verify.ts'

export interface Target {
  /** The name of the case, for error messages. */
  readonly name: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The processes whose CPU time is measured: this one and those under it. */
  readonly pid: number
  readonly connections?: number
  /** Absent: all requests have the same bytes. Needs wrk. */
  readonly traffic?: Traffic
  /** Each request adds another number to the URL, also over several runs. Needs wrk. */
  readonly isNumbered?: boolean
  /** Every counted response. */
  readonly expected: ExpectedResponse
}

/** Requests of many users for many URLs, each with its own traceparent, X-Request-Id and X-Forwarded-For. */
export interface Traffic {
  /** Authorization headers, drawn with the same probability. */
  readonly users: readonly string[]
  /** Paths with responses of one length, drawn by Zipf's law: the first one most often. */
  readonly urls: readonly string[]
}

export interface Sample {
  /** Responses per second. */
  readonly rate: number
  /** Microseconds of CPU time per response, including child processes. */
  readonly cpu: number
}

type Measured = Sample & Totals

const run = promisify(execFile)
export const CONNECTIONS = 64
/** USER_HZ of Linux. */
const TICK = 10_000
/** Milliseconds at the start and at the end of a run that are not measured. */
export const START_MS = 400
const END_MS = 50
/**
 * In addition, with requests of many users: their credentials are verified again once a minute, and the other kinds take
 * longer than that, so the run would begin with the verification of all of them. In operation it is spread over the minute
 * (docs/operations.md#sizing).
 */
const USERS_START_SECONDS = 2
/** The generator copies bodies in order to compare them: with larger ones it would be slower than the servers. */
const MAX_COMPARED_BYTES = 100_000
const SCRIPT = fileURLToPath(new URL('./wrk.lua', import.meta.url))

export const has = (command: string): boolean => spawnSync('sh', ['-c', `command -v ${command}`]).status === 0
const wrk = has('wrk')
export const generator = wrk ? 'wrk' : 'autocannon'

/** Pins a command to one core if possible. */
export function pinned(core: number, command: readonly string[]): readonly string[] {
  return has('taskset') && spawnSync('taskset', ['-c', String(core), 'true']).status === 0
    ? ['taskset', '-c', String(core), ...command]
    : command
}

/**
 * Runs the load for this many seconds. `isWarmUp`: large responses are compared too, which makes the rate meaningless.
 * Throws WrongResponseError if the server returns another response than the expected one before, during or after the
 * run.
 */
export async function load(target: Target, seconds: number, isWarmUp = false): Promise<Sample> {
  const probed = target.isNumbered ? { ...target, url: () => target.url + nextNumber() } : target
  return verified(probed, async (sent) => {
    const compares = isWarmUp || sent.body.length <= MAX_COMPARED_BYTES
    if ((target.traffic || target.isNumbered) && !wrk) throw new Error('requests that differ need wrk')
    const measured = wrk ? await byWrk(target, sent, seconds, compares) : await byAutocannon(target, seconds)
    checkTotals(target.name, measured, sent)
    return { rate: measured.rate, cpu: measured.cpu }
  })
}

/** Numbers of as many digits for each request of all runs. */
let lastNumber = 1_000_000_000
/** More than the requests of a run. */
const NUMBERS_PER_RUN = 10_000_000

function nextNumber(): number {
  lastNumber += 1
  return lastNumber
}

function numberedFrom(isNumbered = false): Record<string, string> {
  if (!isNumbered) return {}
  const BENCH_NUMBER = String(nextNumber())
  lastNumber += NUMBERS_PER_RUN
  return { BENCH_NUMBER }
}

async function byWrk(target: Target, sent: SentResponse, seconds: number, compares: boolean): Promise<Measured> {
  const { url, headers, connections = CONNECTIONS } = target
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const start = target.traffic ? USERS_START_SECONDS : 0
  const options = ['-t1', `-c${connections}`, `-d${start + seconds}`, '--timeout', '10', '-s', SCRIPT]
  const [file = '', ...args] = pinned(1, ['wrk', ...options, ...named, url])
  const pids = await processesUnder(target.pid)
  const now = Date.now()
  const [from, until] = [now + start * 1000 + START_MS, now + (start + seconds) * 1000 - END_MS]
  const env = {
    ...process.env,
    ...expectations(target.expected, sent, compares),
    ...stamps(from, until),
    ...drawn(target.traffic),
    ...numberedFrom(target.isNumbered),
  }
  const [{ stdout }, used] = await Promise.all([run(file, args, { env }), cpuBetween(pids, from, until)])
  const counts = /measured (\d+), compared (\d+), wrong (\d+), bytes (\d+), failed (\d+)/.exec(stdout)?.slice(1)
  const [measured = 0, compared = 0, wrong = 0, bytes = 0, failed = 0] = (counts ?? []).map(Number)
  const all = Number(/(\d+) requests in/.exec(stdout)?.[1] ?? 0)
  const rate = measured / ((until - from) / 1000)
  // Of the responses that are compared, those in the last moment may be missing in one of the two counts.
  const missing = compares && compared < all - connections ? all - compared : 0
  return { rate, cpu: used / (rate / 1000), responses: all, failures: failed + wrong + missing, bytes }
}

/** What the script compares each response with: of Cache-Status, what the case expects and what is before it. */
function expectations(
  { cacheStatus }: ExpectedResponse,
  { status, headers, body }: SentResponse,
  compares: boolean,
): Record<string, string> {
  const found = String(headers['cache-status'] ?? '')
  return {
    BENCH_EACH: compares ? '1' : '',
    BENCH_STATUS: String(status),
    BENCH_LENGTH: String(body.length),
    BENCH_ENCODING: headers['content-encoding'] ?? '',
    BENCH_CACHE:
      cacheStatus === undefined ? '' : found.slice(0, found.search(cacheStatus)) + cacheStatus.exec(found)?.[0],
  }
}

function drawn(traffic: Traffic | undefined): Record<string, string> {
  return traffic ? { BENCH_USERS: traffic.users.join('\n'), BENCH_URLS: traffic.urls.join('\n') } : {}
}

function stamps(from: number, until: number): Record<string, string> {
  return { BENCH_FROM: String(from / 1000), BENCH_UNTIL: String(until / 1000) }
}

/** Returns microseconds of CPU time per millisecond between two points in time. */
async function cpuBetween(pids: readonly number[], from: number, until: number): Promise<number> {
  await sleep(from - Date.now())
  const [began, before] = [performance.now(), await cpuOfAll(pids)]
  await sleep(until - Date.now())
  const [ended, after] = [performance.now(), await cpuOfAll(pids)]
  return (after - before) / (ended - began)
}

/** Without wrk: the whole run is measured, and statuses and sizes are compared, not each response. */
async function byAutocannon(target: Target, seconds: number): Promise<Measured> {
  const { url, headers, connections = CONNECTIONS, expected, pid } = target
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}=${value}`])
  const command = ['npx', 'autocannon', '-j', '-c', String(connections), '-d', String(seconds), ...named, url]
  const [file = '', ...args] = pinned(1, command)
  const before = await cpuOf(pid)
  const { stdout } = await run(file, args, { maxBuffer: 1 << 24 })
  const used = (await cpuOf(pid)) - before
  const result = JSON.parse(stdout) as {
    readonly errors: number
    readonly statusCodeStats: Readonly<Record<string, { readonly count: number }>>
    readonly throughput: { readonly total: number }
  }
  const counts = Object.entries(result.statusCodeStats).map(([status, { count }]) => [Number(status), count] as const)
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  const right = counts.find(([status]) => status === expected.status)?.[1] ?? 0
  const totals = { responses: right, failures: all - right + result.errors, bytes: result.throughput.total }
  return { ...totals, rate: right / seconds, cpu: used / right }
}

/** Returns the CPU time in microseconds of a process and its children; 0 without /proc. */
export async function cpuOf(pid: number): Promise<number> {
  return cpuOfAll(await processesUnder(pid))
}

async function cpuOfAll(pids: readonly number[]): Promise<number> {
  let sum = 0
  for (const pid of pids) {
    const fields = await statOf(pid)
    sum += Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
  }
  return sum * TICK
}

/** Returns the process and all processes that it has started, directly or not. */
async function processesUnder(root: number): Promise<readonly number[]> {
  const parents = new Map<number, number>()
  for (const name of await readdir('/proc').catch(() => []))
    if (/^\d+$/.test(name)) parents.set(Number(name), Number((await statOf(Number(name)))[1]))
  const isUnder = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at))
      if (at === root) return true
    return false
  }
  return [...parents.keys()].filter(isUnder)
}

/** The fields of /proc/PID/stat after the name of the command. */
async function statOf(pid: number): Promise<readonly string[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  return text.replace(/^.*\) /s, '').split(' ')
}
