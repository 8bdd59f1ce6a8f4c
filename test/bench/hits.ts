/**
 * Compares cache hits of the edge with other servers (`npm run bench`). Each server is a process on one core, the load
 * generator runs on the other core. The servers are measured in turn, so that other load on the machine affects all of
 * them. Prints medians, ratios to bare node:http, and the goals.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'
import { type Case, type Contender, contenders } from './cases.ts'
import { bare, type Running } from './contenders.ts'
import { costs, printCostGoals, printCosts } from './cost.ts'
import { LATENCY, latencies } from './latency.ts'
import { cpuOf, generator, load, type Sample } from './load.ts'
import { goals, type Medians, median, printGoals, printTable } from './report.ts'
import { WrongResponseError } from './verify.ts'

const { values } = readOptions({
  name: 'bench',
  purpose: 'Compares cache hits of the edge with bare node:http, nginx and others: requests per second and CPU time.',
  options: {
    only: { kind: 'pattern', meaning: 'rows of the table to measure besides node:http (default: all)' },
    sizes: {
      kind: 'pattern',
      meaning: 'sizes of the response to measure, such as 60 (default: 1.2 kB, 60 kB, 600 kB)',
    },
    quick: { kind: 'flag', meaning: 'one round of one second' },
    cpu: { kind: 'number', value: 'ROUNDS', meaning: 'measure only the CPU time per response, in this many rounds' },
    than: {
      kind: 'text',
      value: 'FOLDER',
      meaning: 'also measure another build of the edge, such as the dist of a release',
    },
  },
})
const { only = /(?:)/, sizes = /(?:)/ } = values
// A short run warms each server once, a long run each case, because an idle server is slow at first.
const [rounds, seconds] = values.quick ? [1, 1] : [5, 2]
/** Responses of each case before its CPU time is measured. */
const WARM = 40_000
const opened: { stop(): Promise<void> }[] = []
const say = (text: string): void => console.log(text)

const isWanted = (row: string): boolean => row === 'node:http' || only.test(row)

async function open({ rows, start, cases }: Contender): Promise<readonly Case[]> {
  if (!rows.some(isWanted)) return []
  try {
    const server = await start()
    if (typeof server === 'string') {
      say(`skipped: ${server}`)
      return []
    }
    opened.push(server)
    say(`started: ${server.name}, ${Math.round((await cpuOf(server.pid)) / 10_000) / 100} s of CPU until it is ready`)
    const found = (await cases(server)).filter(({ row, column }) => isWanted(row) && sizes.test(column))
    const [first] = found
    if (values.quick && first) await ask(first, 1)
    return found
  } catch (fault) {
    if (fault instanceof WrongResponseError) throw fault
    say(`skipped: ${rows.join('; ')}: ${messageOf(fault)}`)
    return []
  }
}

function ask(asked: Case, time: number): Promise<Sample> {
  const { row, column, server, path, headers, connections, expected } = asked
  const name = `${row}, ${column}`
  const target = { name, url: server.url + path, headers, pid: server.pid, expected }
  return load({ ...target, ...(connections && { connections }) }, time)
}

async function measure(cases: readonly Case[]): Promise<Medians> {
  const samples = new Map<Case, Sample[]>(cases.map((each) => [each, []]))
  for (let round = 1; round <= rounds; round++)
    for (const [each, taken] of samples) {
      const name = `round ${round} of ${rounds}  ${each.row}, ${each.column}`
      try {
        if (!values.quick) await ask(each, 1)
        const sample = await ask(each, seconds)
        taken.push(sample)
        say(`${name}: ${Math.round(sample.rate)}/s, ${sample.cpu.toFixed(1)} µs of CPU`)
      } catch (fault) {
        if (fault instanceof WrongResponseError) throw fault
        samples.delete(each)
        say(`${name}: not measured: ${messageOf(fault)}`)
      }
    }
  const medians = new Map<string, Map<string, Sample>>()
  for (const [{ row, column }, taken] of samples) {
    const columns = medians.get(row) ?? new Map<string, Sample>()
    medians.set(
      row,
      columns.set(column, { rate: median(taken.map(({ rate }) => rate)), cpu: median(taken.map(({ cpu }) => cpu)) }),
    )
  }
  return medians
}

function messageOf(fault: unknown): string {
  return fault instanceof Error ? fault.message : String(fault)
}

async function prepare(folder: string): Promise<readonly Case[]> {
  const origin: Running = await bare()
  opened.push(origin)
  const redis = await startRedis()
  opened.push({ stop: () => redis.close() })
  const cases: Case[] = []
  const place = { folder, origin: origin.url, redis: redis.url, than: values.than }
  for (const each of contenders(place)) cases.push(...(await open(each)))
  return cases
}

async function compareRates(cases: readonly Case[]): Promise<void> {
  say(`${cases.length} cases, ${rounds} rounds of ${seconds} s each, load by ${generator}`)
  const medians = await measure(cases)
  printTable(medians, say)
  printGoals(goals, medians, say)
  if (isWanted(LATENCY))
    await latencies(
      cases,
      medians,
      values.quick ? { seconds: 2, columns: ['1.2 kB'] } : { seconds: 10, columns: ['1.2 kB', '60 kB'] },
      say,
    )
  say('\nnot measured: a second process behind a balancer, which needs three cores')
}

async function compareCosts(cases: readonly Case[], rounds: number): Promise<void> {
  say(`${cases.length} cases, ${rounds} rounds of 1 s each, load by ${generator}`)
  // V8 still compiles code of servers that are not warm.
  for (const each of cases) for (let hits = 0; hits < WARM; ) hits += Math.max(1, (await ask(each, 1)).rate)
  const taken = await costs(cases, rounds, async (each) => (await ask(each, 1)).cpu)
  printCosts(taken, say)
  printCostGoals(goals, taken, say)
}

// The certificates are those of the tests.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
process.removeAllListeners('warning')
const folder = await mkdtemp(join(tmpdir(), 'edge-bench-'))
try {
  const cases = await prepare(folder)
  if (values.cpu === undefined) await compareRates(cases)
  else await compareCosts(cases, values.cpu)
} finally {
  for (const each of opened.reverse()) await each.stop()
  await rm(folder, { recursive: true, force: true })
}
