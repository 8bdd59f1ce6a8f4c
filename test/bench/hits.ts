/**
 * Compares cache hits and misses of the edge with other servers (`npm run bench`). Each server is a process on one core, the load
 * generator runs on the other core. All servers of a kind of hit are measured one after the other in each round and
 * compared within the round, so that other load on the machine affects all of them. Prints medians and the goals.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'
import { type Case, type Contender, contenders, type Kind, kinds } from './cases.ts'
import { bare, type Running } from './contenders.ts'
import { latencies } from './latency.ts'
import { cpuOf, generator, load, type Sample, type Target } from './load.ts'
import { printGoals, printTable, type Samples } from './report.ts'
import { WrongResponseError } from './verify.ts'
import { warmUpInTurns } from './warm-up.ts'

const { values } = readOptions({
  name: 'bench',
  purpose: 'Compares hits and misses of the edge with bare node:http, nginx and others: CPU time per request and rate.',
  options: {
    only: { kind: 'pattern', meaning: `kinds of requests to measure (default: all): ${Object.keys(kinds).join(', ')}` },
    servers: { kind: 'pattern', meaning: 'servers to measure besides bare Node and the edge (default: all)' },
    rounds: { kind: 'number', meaning: 'rounds (default 5)' },
    seconds: { kind: 'number', value: 'SECONDS', meaning: 'duration of each run (default 2)' },
    latency: { kind: 'flag', meaning: 'also measure the latency at half of the rate' },
    than: {
      kind: 'build',
      meaning: 'also measure another build of the edge, such as the dist of a release',
    },
  },
})
const { only = /(?:)/, servers = /(?:)/, rounds = 5, seconds = 2 } = values
/** Of each case in each round of the warm-up. */
const WARM_UP_SLICE_SECONDS = 2
/** For each case. A miss runs more code, of which V8 compiles the last functions after tens of thousands of requests. */
const MAX_WARM_UP_MS = 10_000
const MAX_MISS_WARM_UP_MS = 40_000

const opened: { stop(): Promise<void> }[] = []
const say = (text: string): void => console.log(text)

const isKind = (kind: Kind): boolean => only.test(kind)
const isServer = (name: string): boolean => /^(node:|edge|other)/.test(name) || servers.test(name)

async function open({ name, kinds, start, cases }: Contender): Promise<readonly Case[]> {
  if (!kinds.some(isKind) || !isServer(name)) return []
  try {
    const server = await start()
    if (typeof server === 'string') {
      say(`skipped: ${name}: ${server}`)
      return []
    }
    opened.push(server)
    say(`started: ${name}, ${Math.round((await cpuOf(server.pid)) / 10_000) / 100} s of CPU until it is ready`)
    return (await cases(server)).filter(({ kind }) => isKind(kind))
  } catch (fault) {
    if (fault instanceof WrongResponseError) throw fault
    say(`skipped: ${name}: ${messageOf(fault)}`)
    return []
  }
}

function targetOf({ kind, row, server, path, headers, connections, traffic, isNumbered, expected }: Case): Target {
  const target = { name: `${kind}, ${row}`, url: server.url + path, headers, pid: server.pid, expected }
  return {
    ...target,
    ...(connections && { connections }),
    ...(traffic && { traffic }),
    ...(isNumbered && { isNumbered }),
  }
}

/** Measures all cases of a kind in sequence, kind by kind, in each round. */
async function measure(cases: readonly Case[]): Promise<Samples> {
  const samples = new Map<Case, Sample[]>()
  for (const kind of Object.keys(kinds)) {
    const own = cases.filter((each) => each.kind === kind)
    for (const each of await warmUp(own)) samples.set(each, [])
  }
  for (let turn = 1; turn <= rounds; turn++)
    for (const [each, taken] of samples) {
      const sample = await load(targetOf(each), seconds)
      taken.push(sample)
      const figures = `${sample.cpu.toFixed(1)} µs of CPU, ${Math.round(sample.rate)}/s`
      say(`round ${turn} of ${rounds}  ${each.kind}, ${each.row}: ${figures}`)
    }
  return samples
}

/** Compares the responses, and returns the cases of a kind that can be measured. */
async function warmUp(cases: readonly Case[]): Promise<readonly Case[]> {
  const [first] = cases
  if (first === undefined) return []
  const maxMs = cases.length * (first.isNumbered ? MAX_MISS_WARM_UP_MS : MAX_WARM_UP_MS)
  const warmedUp = await warmUpInTurns(cases, {
    run: (each) => load(targetOf(each), WARM_UP_SLICE_SECONDS, true),
    onFailure: ({ kind, row }, fault) => {
      if (fault instanceof WrongResponseError) throw fault
      say(`skipped: ${kind}, ${row}: ${messageOf(fault)}`)
    },
    onRound: (figures) => {
      const latest = [...figures].map(([{ row }, taken]) => `${row} ${taken.at(-1)?.toFixed(1)}`)
      if (latest.length > 0) say(`warm-up  ${first.kind}, µs of CPU: ${latest.join(' · ')}`)
    },
    maxMs,
  })
  if (!warmedUp.isSettled) say(`warm-up  ${first.kind}: the figures have not settled within ${maxMs / 1000} s`)
  return warmedUp.cases
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault)
}

async function prepare(folder: string): Promise<readonly Case[]> {
  const origin: Running = await bare()
  opened.push(origin)
  const [redis, otherRedis] = await Promise.all([startRedis(), startRedis()])
  for (const each of [redis, otherRedis]) opened.push({ stop: () => each.close() })
  const cases: Case[] = []
  const place = { folder, origin: origin.url, redis: redis.url, otherRedis: otherRedis.url, than: values.than }
  for (const each of contenders(place)) cases.push(...(await open(each)))
  return cases
}

// The certificates are those of the tests.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
process.removeAllListeners('warning')
const folder = await mkdtemp(join(tmpdir(), 'edge-bench-'))
try {
  const cases = await prepare(folder)
  say(`${cases.length} cases, ${rounds} rounds of ${seconds} s each, load by ${generator}`)
  const samples = await measure(cases)
  printTable(samples, say)
  printGoals(samples, say)
  if (values.latency) await latencies(samples, say)
} finally {
  for (const each of opened.reverse()) await each.stop()
  await rm(folder, { recursive: true, force: true })
}
