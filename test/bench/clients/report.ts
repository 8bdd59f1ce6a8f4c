/** Prints the rows, and which goals they reach. */
import { availableParallelism } from 'node:os'
import type { AgeFigures, Row } from './rows.ts'
import { SOURCES, spreadOf } from './taken.ts'

type Say = (text: string) => void

export const MOST_IN_FLIGHT = 4
/**
 * Rows with fewer clients have no goal for the latency: they request a status too rarely for it to be served during a
 * refresh.
 */
const MIN_CLIENTS_FOR_LATENCY = 1_000
const MEDIAN_MS = 5
const P95_MS = 100

export function printHeader(say: Say): void {
  say(
    '| clients | way | answers/s | median · p95 · p99 ms | errors | calls/s on each node | most in flight on each node |',
  )
  say('|---|---|---|---|---|---|---|')
}

export function printRow({ clients, way, spent, taken, nodes }: Row, say: Say): void {
  const cells = [
    count(clients),
    way,
    (taken.arrived / spent).toFixed(taken.arrived / spent < 100 ? 1 : 0),
    spread(taken.times),
    errorsOf(taken.errors),
    nodes.map(({ callsPerSecond }) => callsPerSecond.toFixed(1)).join(' · '),
    nodes.map(({ most }) => most).join(' · '),
  ]
  say(`| ${cells.join(' | ')} |`)
}

export function printDetails(row: Row, say: Say): void {
  const { clients, way, taken, warm, own, cpu, ages } = row
  say(`\n${count(clients)} clients, ${way}`)
  say(`  start, not counted above: ${spread(warm.times)} ms, errors: ${errorsOf(warm.errors)}`)
  say(
    `  delay of the machine and the generator: echo ${spread(own.echo)} ms, requests sent late by ${spread(own.late)} ms`,
  )
  const others = cpu.machine - cpu.generator - cpu.replicas - cpu.cluster - cpu.redis
  say(
    `  processor time of ${availableParallelism()} cores, in parts of one: generator ${percent(cpu.generator)}, ` +
      `replicas ${percent(cpu.replicas)}, simulator ${percent(cpu.cluster)}, Redis ${percent(cpu.redis)}, ` +
      `everything else ${percent(Math.max(0, others))}`,
  )
  if (row.cluster.layout === 'v4') printMinutes(row, say)
  say(`  calls since the start: ${row.calls.map(([path, number]) => `${count(number)} ${path}`).join(', ')}`)
  if (taken.logins.length > 0) say(`  ${count(taken.logins.length)} logins: ${spread(taken.logins)} ms`)
  if (way === 'direct') return
  const all = [...taken.sources.values()].reduce((sum, one) => sum + one, 0)
  const shares = SOURCES.map((source) => `${source} ${percent((taken.sources.get(source) ?? 0) / all, 2)}`)
  say(`  answers by Cache-Status: ${shares.join(', ')}`)
  say(
    '  | GET | group | longest fetch s | oldest answer s | bound s | answers that waited for a fetch | median · p95 · p99 ms |',
  )
  say('  |---|---|---|---|---|---|---|')
  for (const [get, { target }] of row.session.gets.entries()) {
    const waited = taken.gets[get]?.waited ?? []
    const { group = '', fetchSeconds = 0, oldest = 0, bound = 0 } = ages[get] ?? {}
    const cells = [
      target,
      group,
      fetchSeconds.toFixed(1),
      oldest,
      bound.toFixed(1),
      waited.length,
      waited.length === 0 ? '–' : spread(waited),
    ]
    say(`  | ${cells.join(' | ')} |`)
  }
}

function printMinutes({ nodes }: Row, say: Say): void {
  for (const { name, callsPerSecond, minute, refused } of nodes) {
    const mean = (60 * callsPerSecond).toFixed(0)
    say(`  ${name}: ${mean} calls a minute, ${minute} in the busiest 60 s since the start, ${refused} refused with 429`)
  }
}

/** Prints which goals the rows through the edge reach. Returns whether all are reached. */
export function printGoals(rows: readonly Row[], say: Say): boolean {
  say('\ngoals of the rows through the edge')
  const missed = rows.filter(({ way }) => way === 'edge').map((row) => missedGoals(row, say))
  return missed.every((count) => count === 0)
}

function missedGoals(row: Row, say: Say): number {
  const { clients, taken, own, nodes, ages, cluster, session } = row
  const [median, p95] = spreadOf(taken.times)
  const [echo, echoP95] = spreadOf(own.echo)
  const most = Math.max(...nodes.map((node) => node.most))
  const tooOld = ages.filter(({ oldest, bound }) => bound === 0 || oldest > bound)
  // Five of the nine URLs are fresh for a second: these clients wait where the limit per minute permits fewer calls.
  const ofMany = {
    median: MEDIAN_MS,
    p95: cluster.v4?.requestsPerMinute === undefined ? P95_MS : Number.POSITIVE_INFINITY,
  }
  const bounds = session.latency ?? (clients >= MIN_CLIENTS_FOR_LATENCY ? ofMany : undefined)
  const latency = [
    { name: 'median', ms: median, most: bounds?.median, echo },
    { name: 'p95', ms: p95, most: bounds?.p95, echo: echoP95 },
  ].flatMap(({ name, ms, most, echo }) =>
    most === undefined || most === Number.POSITIVE_INFINITY
      ? []
      : [{ name: `${name} ≤ ${most} ms`, figure: `${ms.toFixed(1)} (echo ${echo.toFixed(1)})`, reached: ms <= most }],
  )
  const goals = [
    ...latency,
    { name: 'no errors', figure: errorsOf(taken.errors), reached: taken.errors.size === 0 && taken.times.length > 0 },
    { name: `at most ${MOST_IN_FLIGHT} in flight per node`, figure: String(most), reached: most <= MOST_IN_FLIGHT },
    ...limitGoals(row, session.contract === 'v4' ? OWN_LIMIT_PER_MINUTE : undefined),
    { name: 'ages within the bounds', figure: tooOld.map(ageText).join(', ') || 'all', reached: tooOld.length === 0 },
  ]
  for (const { name, figure, reached } of goals) {
    say(`  ${reached ? 'reached' : 'missed '}  ${count(clients)} clients: ${name}: ${figure}`)
  }
  return goals.filter(({ reached }) => !reached).length
}

interface Goal {
  readonly name: string
  readonly figure: string
  readonly reached: boolean
}

/** What the edge permits itself of the calls that a node answers in a minute. */
const OWN_LIMIT_PER_MINUTE = 270

/** `goal`: fewer calls than the limit of a node. */
function limitGoals({ nodes, cluster }: Row, goal: number | undefined): Goal[] {
  const limit = goal ?? cluster.v4?.requestsPerMinute
  if (limit === undefined) return []
  const most = Math.max(...nodes.map(({ minute }) => minute))
  const refused = nodes.reduce((sum, node) => sum + node.refused, 0)
  return [
    { name: `at most ${limit} calls in any 60 s per node`, figure: String(most), reached: most <= limit },
    { name: 'no call refused with 429', figure: String(refused), reached: refused === 0 },
  ]
}

const ageText = ({ target, oldest, bound }: AgeFigures): string =>
  bound === 0 ? `${target}: never stored` : `${target}: ${oldest} s of ${bound.toFixed(1)} s`

function spread(values: readonly number[]): string {
  return spreadOf(values)
    .map((ms) => (ms < 100 ? ms.toFixed(1) : count(Math.round(ms))))
    .join(' · ')
}

function errorsOf(errors: ReadonlyMap<string, number>): string {
  return [...errors].map(([name, number]) => `${count(number)} × ${name}`).join(', ') || '0'
}

const count = (number: number): string => number.toLocaleString('en')
const percent = (part: number, digits = 0): string => `${(100 * part).toFixed(digits)} %`
