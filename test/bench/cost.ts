/**
 * Measures the CPU time of the server per response, for shared machines on which rates mean little. All rows of one
 * size are measured in sequence and compared within each round, so that other load affects all of them; the median of
 * the ratios excludes the other rounds.
 */
import type { Case } from './cases.ts'
import { type Goal, median, round } from './report.ts'

/** Returns microseconds of CPU time per response. */
export type MeasureCost = (measured: Case) => Promise<number>
type Say = (text: string) => void
/** One figure per round for each case. */
type Costs = ReadonlyMap<Case, readonly number[]>

export async function costs(cases: readonly Case[], rounds: number, measure: MeasureCost): Promise<Costs> {
  const taken = new Map<Case, number[]>(cases.map((each) => [each, []]))
  const columns = new Set(cases.map(({ column }) => column))
  for (let turn = 0; turn < rounds; turn++)
    for (const column of columns)
      for (const [each, figures] of taken) if (each.column === column) figures.push(await measure(each))
  return taken
}

/**
 * Prints microseconds per response, and the ratio of bare node:http to each row: 1 means equal cost, less than 1 means
 * that the row costs more. The least value is the cost without disturbance by other processes.
 */
export function printCosts(taken: Costs, say: Say): void {
  say('\nCPU time per response in µs')
  say('median · least · node:http ÷ this row (lower to upper quartile) · the same ratio of the least values')
  for (const [each, figures] of taken) {
    const limit = find(taken, each.row.includes('TLS') ? 'node:https' : 'node:http', each.column)
    const least = limit === undefined ? '–' : (Math.min(...limit) / Math.min(...figures)).toFixed(3)
    const own = `${round(median(figures))} · ${round(Math.min(...figures))}`
    say(`${`  ${each.row}, ${each.column}`.padEnd(40)}${own} · ${spread(limit, figures)} · ${least}`)
  }
}

export function printCostGoals(goals: readonly Goal[], taken: Costs, say: Say): void {
  say('\ngoals, by CPU time')
  for (const { name, of, over, least } of goals) {
    const [one, other] = [find(taken, ...of), find(taken, ...over)]
    if (one === undefined || other === undefined) continue
    const ratio = median(ratios(other, one))
    say(`  ${ratio >= least ? 'reached' : 'missed '}  ${name}: ${spread(other, one)} (≥ ${least})`)
  }
}

function find(taken: Costs, row: string, column: string): readonly number[] | undefined {
  for (const [each, figures] of taken) if (each.row === row && each.column === column) return figures
  return undefined
}

function ratios(ones: readonly number[], others: readonly number[]): number[] {
  return ones.map((one, turn) => one / (others[turn] ?? Number.NaN))
}

function spread(ones: readonly number[] | undefined, others: readonly number[]): string {
  if (ones === undefined) return '–'
  const found = ratios(ones, others)
  return `${median(found).toFixed(3)} (${median(found, 0.25).toFixed(2)}–${median(found, 0.75).toFixed(2)})`
}
