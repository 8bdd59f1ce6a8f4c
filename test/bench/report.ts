/** Prints the table of medians and the goals for hits: reached, or the missing part. */
import type { Sample } from './load.ts'

/** Row, column, median. */
export type Medians = ReadonlyMap<string, ReadonlyMap<string, Sample>>

type Cell = readonly [row: string, column: string]

export interface Goal {
  readonly name: string
  readonly of: Cell
  readonly over: Cell
  readonly least: number
}

const goal = (name: string, of: Cell, over: Cell, least: number): Goal => ({ name, of, over, least })
const [S, M, L] = ['1.2 kB', '60 kB', '600 kB'] as const

/** Rows of an edge that records everything, and of an edge that records nothing. */
export const ALL_ON = 'edge, Basic, log, metrics, audit'
export const ALL_OFF = 'edge, Basic, no log, no metrics'

/** The ratio of one server to another in the same run. */
export const goals: readonly Goal[] = [
  ...['Basic', 'Bearer'].flatMap((scheme) => [
    goal(`${scheme}, ${S}, to node:http`, [`edge, ${scheme}`, S], ['node:http', S], 0.85),
    goal(`${scheme}, ${M}, to node:http`, [`edge, ${scheme}`, M], ['node:http', M], 0.85),
    goal(`${scheme}, ${L}, to node:http`, [`edge, ${scheme}`, L], ['node:http', L], 0.95),
  ]),
  goal(`${S}, to nginx without passwords`, ['edge, Basic', S], ['nginx', S], 1),
  goal(`${M}, to nginx without passwords`, ['edge, Basic', M], ['nginx', M], 0.85),
  goal(`${L}, to nginx without passwords`, ['edge, Basic', L], ['nginx', L], 1.8),
  goal(`${S}, to nginx with bcrypt`, ['edge, Basic', S], ['nginx, bcrypt', S], 1000),
  goal(`${S}, to Express with apicache`, ['edge, Basic', S], ['Express, apicache', S], 45),
  goal(`${M}, to Express with apicache`, ['edge, Basic', M], ['Express, apicache', M], 45),
  goal(`${L}, to Express with apicache`, ['edge, Basic', L], ['Express, apicache', L], 15),
  goal(`gzip, ${L}, to nginx with gzip 1`, ['edge, Basic, gzip', L], ['nginx, gzip 1', L], 100),
  goal('304, to the small hit of node:http', ['edge, Basic, 304', S], ['node:http', S], 0.9),
  goal('log on, to log off', ['edge, Basic', S], ['edge, Basic, no log', S], 0.9),
  goal('metrics, audit and log on, to all off', [ALL_ON, S], [ALL_OFF, S], 0.9),
]

const WIDE = 34

/** Requests per second · ratio to node:http (node:https for rows with TLS) · microseconds of CPU time per request. */
export function printTable(medians: Medians, say: (text: string) => void): void {
  say(`\n${''.padEnd(WIDE)}${[S, M, L].map((column) => column.padStart(26)).join('')}`)
  for (const [row, columns] of medians) {
    const limit = medians.get(row.includes('TLS') ? 'node:https' : 'node:http')
    const cells = [S, M, L].map((column) => cell(columns.get(column), limit?.get(column)).padStart(26))
    say(row.padEnd(WIDE) + cells.join(''))
  }
  say('requests/s · ratio to node:http · µs of CPU time per request')
}

function cell(sample: Sample | undefined, limit: Sample | undefined): string {
  if (sample === undefined) return '–'
  const ratio = limit === undefined ? '–' : round(sample.rate / limit.rate)
  return `${Math.round(sample.rate)} · ${ratio} · ${round(sample.cpu)}`
}

export function printGoals(goals: readonly Goal[], medians: Medians, say: (text: string) => void): void {
  say('\ngoals')
  for (const { name, of, over, least } of goals) {
    const [one, other] = [at(medians, of), at(medians, over)]
    if (one === undefined || other === undefined) {
      say(`  not measured  ${name}: ≥ ${least}`)
      continue
    }
    const ratio = one.rate / Math.max(other.rate, Number.EPSILON)
    // On a shared machine, CPU time per request is more reliable than the rate.
    const byCpu = one.cpu > 0 && other.cpu > 0 ? `, by CPU time ${round(other.cpu / one.cpu)}` : ''
    const verdict = ratio >= least ? 'reached     ' : `missed ${round((1 - ratio / least) * 100)} %`.padEnd(12)
    say(`  ${verdict}  ${name}: ${round(ratio)}${byCpu} (≥ ${least})`)
  }
}

function at(medians: Medians, [row, column]: Cell): Sample | undefined {
  return medians.get(row)?.get(column)
}

export function round(number: number): string {
  return number >= 100 ? String(Math.round(number)) : number.toPrecision(number >= 10 ? 3 : 2)
}

/** Returns a quantile; 0.5 is the median. */
export function median(figures: readonly number[], at = 0.5): number {
  return [...figures].sort((one, other) => one - other)[Math.floor(figures.length * at)] ?? 0
}
