/**
 * What an answer costs: CPU time of the server for each, where the machine is shared and rates say little. All rows of
 * one size are asked one after the other, again and again, and compared within each round: what else the machine does
 * falls on all of them, and a median of ratios leaves out the rounds in which it did not.
 */
import type { Case } from './cases.ts'
import { type Goal, median, round } from './report.ts'

/** Gives the microseconds of one answer. */
export type AskCost = (asked: Case) => Promise<number>
type Say = (text: string) => void
/** For each case, one figure for each round. */
type Taken = ReadonlyMap<Case, readonly number[]>

export async function costs(cases: readonly Case[], rounds: number, ask: AskCost): Promise<Taken> {
  const taken = new Map<Case, number[]>(cases.map((each) => [each, []]))
  const columns = new Set(cases.map(({ column }) => column))
  for (let turn = 0; turn < rounds; turn++)
    for (const column of columns)
      for (const [each, figures] of taken) if (each.column === column) figures.push(await ask(each))
  return taken
}

/** Microseconds for each answer, and how many of it cost as much as one of bare node:http. The least is what the program itself needs. */
export function printCosts(taken: Taken, say: Say): void {
  say('\nµs of CPU for each answer, median and least · bare node to it (lower and upper quarter) · least to least')
  for (const [each, figures] of taken) {
    const limit = find(taken, each.row.includes('TLS') ? 'node:https' : 'node:http', each.column)
    const least = limit === undefined ? '–' : (Math.min(...limit) / Math.min(...figures)).toFixed(3)
    const own = `${round(median(figures))} ${round(Math.min(...figures))}`
    say(`${`  ${each.row}, ${each.column}`.padEnd(40)}${own} · ${spread(limit, figures)} · ${least}`)
  }
}

export function printCostGoals(asked: readonly Goal[], taken: Taken, say: Say): void {
  say('\ngoals, by CPU time')
  for (const { says, of, over, least } of asked) {
    const [one, other] = [find(taken, ...of), find(taken, ...over)]
    if (one === undefined || other === undefined) continue
    const ratio = median(ratios(other, one))
    say(`  ${ratio >= least ? 'reached' : 'missed '}  ${says}: ${spread(other, one)} (≥ ${least})`)
  }
}

function find(taken: Taken, row: string, column: string): readonly number[] | undefined {
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
