/** Prints the tables of joining and the goals: reached, or the missing part. */
import { type Cost, medianOf } from './measure.ts'

/** All runs of one way for one number of nodes. The ways alternate, so runs with the same index belong together. */
export type Costs = ReadonlyMap<string, ReadonlyMap<number, readonly Cost[]>>

const WIDE = 34
type Say = (text: string) => void

export function printTable(
  title: string,
  columns: readonly string[],
  rows: ReadonlyMap<string, readonly string[]>,
  say: Say,
): void {
  const width = Math.max(12, ...[...rows.values(), columns].flat().map((text) => text.length + 2))
  say(`\n${title.padEnd(WIDE)}${columns.map((column) => column.padStart(width)).join('')}`)
  for (const [row, cells] of rows) say(row.padEnd(WIDE) + cells.map((cell) => cell.padStart(width)).join(''))
}

export function cellOf({ total, after, afterCpu, block, cpu }: Cost): string {
  return `${round(total)} · ${round(after)} (${round(afterCpu)}) · ${round(block)} · ${round(cpu)}`
}

export interface Goal {
  readonly name: string
  readonly is: number | undefined
  readonly goal: number
  readonly way: 'most' | 'least'
  /** The same in CPU time, if measured. */
  readonly byCpu?: number | undefined
  /** The best round, as an estimate for an idle machine. */
  readonly best?: number | undefined
}

export function printGoals(goals: readonly Goal[], say: Say): void {
  say('\ngoals')
  for (const { name, is, goal, way, byCpu, best } of goals) {
    const sign = way === 'most' ? '≤' : '≥'
    if (is === undefined || Number.isNaN(is)) {
      say(`  not measured  ${name}: ${sign} ${goal}`)
      continue
    }
    const reached = way === 'most' ? is <= goal : is >= goal
    const besides = [
      byCpu === undefined ? '' : `, by CPU ${round(byCpu)}`,
      best === undefined ? '' : `, best ${round(best)}`,
    ]
    const by = way === 'most' ? is / goal - 1 : 1 - is / goal
    say(
      `  ${(reached ? 'reached' : `missed ${round(by * 100)} %`).padEnd(13)} ${name}: ${round(is)}${besides.join('')} (${sign} ${goal})`,
    )
  }
}

/** Returns the median ratio of one way to another in the same round. */
export function paired(costs: Costs, one: string, other: string, nodes: number, of: keyof Cost): number | undefined {
  const [ours, theirs] = [costs.get(one)?.get(nodes), costs.get(other)?.get(nodes)]
  if (!ours || !theirs) return undefined
  return medianOf(ours.map((cost, round) => cost[of] / Math.max(Number.EPSILON, theirs[round]?.[of] ?? Number.NaN)))
}

export function round(number: number): string {
  return Math.abs(number) >= 100 ? String(Math.round(number)) : number.toPrecision(Math.abs(number) >= 10 ? 3 : 2)
}
