/**
 * The worst hour (`npm run bench:relief`): many clients, impatient clients, bulk clients, a burst, an outage of all nodes
 * and a Redis that stalls, in front of a manager as slow as a real one, with two replicas of the edge and the default
 * settings but where named. Each answer is verified: status, length, beginning, end, `Age` and `Cache-Status`.
 *
 * Ends with code 1 if a row misses a goal.
 */
import { readOptions } from '../support/script-options.ts'
import { type Figures, measureRelief, type Summary } from './relief/measure.ts'
import { type ReliefRow, reliefRows } from './relief/rows.ts'

const { values } = readOptions({
  name: 'bench:relief',
  purpose: 'Measures what clients of a slow manager receive in its worst hour, with the edge and without it.',
  options: {
    only: { kind: 'pattern', meaning: 'measure the rows whose name matches' },
    seconds: { kind: 'number', value: 'SECONDS', meaning: 'duration of each row without a fault (default 60)' },
    outage: { kind: 'number', value: 'SECONDS', meaning: 'duration of the outage (default 1800)' },
    edge: { kind: 'flag', meaning: 'leave out the rows without the edge' },
  },
})
const { only, seconds = 60, outage = 1800 } = values
const WARM_UP_S = 20
const MOST_IN_FLIGHT = 4
const say = (text: string): void => console.log(text)

const percent = (part: number): string => (Number.isNaN(part) ? '–' : `${(100 * part).toFixed(1)} %`)
const time = (ms: number): string => (ms < 10 ? ms.toFixed(1) : Math.round(ms).toLocaleString('en'))
const faultsOf = ({ faults }: Summary): string =>
  [...faults].map(([fault, count]) => `${count} × ${fault}`).join(', ') || '0'

function printRow(name: string, way: string, figures: Figures): void {
  const { interactive, bulk, callsPerSecond, most, marked, normalAfter } = figures
  const cells = [
    ...[name, way, interactive.perSecond.toFixed(1), percent(interactive.withinSecond)],
    [interactive.median, interactive.p99, interactive.worst].map(time).join(' · '),
    faultsOf(interactive),
    Number.isNaN(bulk.answered) ? '–' : bulk.perSecond.toFixed(1),
    callsPerSecond.toFixed(1),
    most,
    percent(marked),
    Number.isNaN(normalAfter) ? '–' : normalAfter,
  ]
  say(`| ${cells.join(' | ')} |`)
}

/** Returns what the row misses. */
function missedGoals(row: ReliefRow, { interactive, most, marked, normalAfter }: Figures, direct?: Figures): string[] {
  const least = (name: string, figure: number, goal: number | undefined) =>
    goal !== undefined && !(figure >= goal) ? [`${name} ${percent(figure)}, goal ${percent(goal)}`] : []
  const at = (name: string, figure: number, goal: number | undefined) =>
    goal !== undefined && !(figure <= goal) ? [`${name} ${time(figure)}, goal ${goal}`] : []
  return [
    ...least('within a second', interactive.withinSecond, row.withinSecond),
    ...least('answered', interactive.answered, row.answered),
    ...least('marked', marked, row.marked === undefined ? undefined : 1),
    ...at('median ms', interactive.median, row.median),
    ...at('p99 ms', interactive.p99, row.p99),
    ...at('seconds until normal', normalAfter, row.normalAfter),
    ...at('calls in flight at a node', most, MOST_IN_FLIGHT),
    ...(direct === undefined
      ? []
      : least('of the answers without the edge', interactive.perSecond / direct.interactive.perSecond, 1)),
  ]
}

say('3 nodes on one machine, 101 agents, 0.45 s of processor time per call; two replicas, one Redis')
say(
  '| row | way | interactive answers/s | within 1 s | median · p99 · worst ms | faults | bulk answers/s | calls/s | most in flight at a node | marked | normal after s |',
)
say('|---|---|---|---|---|---|---|---|---|---|---|')
const missed: string[] = []
for (const row of reliefRows(outage).filter(({ name }) => only?.test(name) ?? true)) {
  const options = { row, seconds: row.seconds ?? seconds, warmUp: WARM_UP_S }
  const edge = await measureRelief({ ...options, way: 'edge' })
  printRow(row.name, 'edge', edge)
  const direct = row.direct && !values.edge ? await measureRelief({ ...options, way: 'direct' }) : undefined
  if (direct !== undefined) printRow(row.name, 'direct', direct)
  missed.push(...missedGoals(row, edge, direct).map((goal) => `${row.name}: ${goal}`))
}
say(missed.length === 0 ? '\nall goals reached' : `\ngoals missed\n${missed.map((goal) => `  ${goal}`).join('\n')}`)
process.exitCode = missed.length === 0 ? 0 : 1
