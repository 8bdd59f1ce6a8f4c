/** What replicas cost, as a table and by the laws of growth. */
import { format, judge, type Law, type Point } from './laws.ts'
import type { Plan } from './measurements.ts'

/** Totals since the start. */
export interface Totals {
  readonly commands: number
  /** Bytes that Redis has sent. */
  readonly sent: number
  /** Microseconds of CPU time. */
  readonly redis: number
  readonly replicas: number
}

/** Per second, of Redis and of all replicas together. */
export type Rates = Totals

/** What one number of replicas costs. */
export interface Figures {
  readonly count: number
  readonly rest: Rates
  /** Of each write, beyond the cost at rest. */
  readonly write: Totals
  /** Mean latency of a write in milliseconds. */
  readonly ms: number
}

const FLAT: Law = { kind: 'flat', factor: 1.25 }
const FLAT_CPU: Law = { kind: 'flat', factor: 2 }
/** Between a line and a square, whose slope to 16 is 1.9 times that to 8. */
const LINEAR: Law = { kind: 'linear', factor: 1.6 }

const ms = (microseconds: number): string => `${format(microseconds / 1000)} ms`

export function printFigures(figures: readonly Figures[], say: Plan['say']): void {
  say('\nreplicas at rest: per second')
  say('  replicas   commands at Redis   bytes from Redis   CPU of Redis   CPU of each replica')
  for (const { count, rest } of figures) {
    const cells = [rest.commands.toFixed(0), rest.sent.toFixed(0), ms(rest.redis), ms(rest.replicas / count)]
    say(lineOf(count, cells))
  }
  say('replicas and writes: for each write')
  say('  replicas   commands at Redis   bytes from Redis   CPU of Redis   CPU of each replica   latency')
  for (const { count, write, ms: latency } of figures) {
    const cells = [write.commands.toFixed(1), write.sent.toFixed(0), ms(write.redis), ms(write.replicas / count)]
    say(`${lineOf(count, cells)}   ${latency.toFixed(1)} ms`)
  }
}

const COLUMN_WIDTHS = [17, 16, 12, 19]

function lineOf(count: number, cells: readonly string[]): string {
  const padded = cells.map((cell, at) => cell.padStart(COLUMN_WIDTHS[at] ?? 0))
  return `  ${String(count).padStart(8)}   ${padded.join('   ')}`
}

/** Prints and returns whether each cost grows as its law allows. */
export function judgeFigures(figures: readonly Figures[], say: Plan['say']): boolean {
  const points = (y: (figure: Figures) => number): Point[] =>
    figures.map((figure) => ({ x: figure.count, y: y(figure) }))
  const laws: readonly (readonly [string, Law, readonly Point[], string])[] = [
    ['commands at rest for each replica', FLAT, points(({ rest, count }) => rest.commands / count), '/s'],
    ['bytes at rest for each replica', LINEAR, points(({ rest, count }) => rest.sent / count), 'B/s'],
    ['CPU at rest of each replica', FLAT_CPU, points(({ rest, count }) => rest.replicas / count), 'µs/s'],
    ['commands for each write', LINEAR, points(({ write }) => write.commands), ''],
    ['bytes for each write', LINEAR, points(({ write }) => write.sent), 'B'],
    ['CPU of each replica for each write', FLAT_CPU, points(({ write, count }) => write.replicas / count), 'µs'],
  ]
  let allHold = true
  for (const [name, law, measured, unit] of laws) {
    const { holds, text } = judge(law, measured, unit)
    say(`  ${name}: ${text}`)
    allHold &&= holds
  }
  return allHold
}
