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
    late: { kind: 'flag', meaning: 'print each late answer of a dashboard' },
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

interface Goal {
  readonly name: string
  readonly figure: number
  readonly at: 'least' | 'most'
  readonly bound: number
  readonly unit: 'part' | 'ms' | 's' | 'calls'
}

/** Bulk clients get this part of what the dashboards leave over. */
const LEAST_BULK_SHARE = 0.6

function goalsOf(row: ReliefRow, figures: Figures, direct?: Figures): readonly Goal[] {
  const { interactive, most, marked, normalAfter, bulkShare, besidesFetches } = figures
  const goal = (name: string, figure: number, at: Goal['at'], bound: number | undefined, unit: Goal['unit']) =>
    bound === undefined ? [] : [{ name, figure, at, bound, unit }]
  const hasBulk = row.parties.some(({ kind }) => kind === 'bulk')
  const ratio = direct && interactive.perSecond / direct.interactive.perSecond
  return [
    ...goal('within 1 s', interactive.withinSecond, 'least', row.withinSecond, 'part'),
    ...goal('answered', interactive.answered, 'least', row.answered, 'part'),
    ...goal('marked', marked, 'least', row.marked === undefined ? undefined : 1, 'part'),
    ...goal('median', interactive.median, 'most', row.median, 'ms'),
    ...goal('p99', interactive.p99, 'most', row.p99, 'ms'),
    ...goal('slowest read of what is stored', interactive.slowestStored, 'most', row.slowestStored, 'ms'),
    ...goal('normal after', normalAfter, 'most', row.normalAfter, 's'),
    ...goal('time besides fetches', besidesFetches, 'most', row.besidesFetches, 'part'),
    ...goal('bulk, of what is left over', bulkShare, 'least', hasBulk ? LEAST_BULK_SHARE : undefined, 'part'),
    ...goal('in flight', most, 'most', MOST_IN_FLIGHT, 'calls'),
    ...(ratio === undefined ? [] : goal('answers, of those without the edge', ratio, 'least', 1, 'part')),
  ]
}

const isReached = ({ figure, at, bound }: Goal): boolean => (at === 'least' ? figure >= bound : figure <= bound)

function textOf({ name, at, bound, unit }: Goal): string {
  const value = unit === 'part' ? percent(bound) : `${bound}${unit === 'calls' ? '' : ` ${unit}`}`
  return `${name} ${at === 'least' ? '≥' : '≤'} ${value}`
}

function printRow(name: string, way: string, figures: Figures, goals: readonly Goal[] = []): void {
  const { interactive, bulk, callsPerSecond, most, marked, normalAfter } = figures
  const cells = [
    ...[name, way, interactive.perSecond.toFixed(1), percent(interactive.withinSecond)],
    [interactive.median, interactive.p99, interactive.worst].map(time).join(' · '),
    faultsOf(interactive),
    Number.isNaN(bulk.answered) ? '–' : `${bulk.perSecond.toFixed(1)} (${percent(figures.bulkShare)})`,
    callsPerSecond.toFixed(1),
    most,
    percent(marked),
    Number.isNaN(normalAfter) ? '–' : normalAfter,
    goals.map((goal) => `${isReached(goal) ? '✓' : '✗'} ${textOf(goal)}`).join(', '),
  ]
  say(`| ${cells.join(' | ')} |`)
}

say('3 nodes on one machine, 101 agents, 0.45 s of processor time per call; two replicas, one Redis')
say(
  '| row | way | interactive answers/s | within 1 s | median · p99 · worst ms | faults | bulk answers/s (of the capacity left over) | calls/s | most in flight at a node | marked | normal after s | goals |',
)
say('|---|---|---|---|---|---|---|---|---|---|---|---|')
const missed: string[] = []
for (const row of reliefRows(outage).filter(({ name }) => only?.test(name) ?? true)) {
  const options = { row, seconds: row.seconds ?? seconds, warmUp: WARM_UP_S }
  const edge = await measureRelief({ ...options, way: 'edge' })
  const direct = values.edge ? undefined : await measureRelief({ ...options, way: 'direct' })
  const goals = goalsOf(row, edge, direct)
  for (const { target, place, sentAt, ms, fault, cacheStatus } of values.late ? edge.late : [])
    say(`  ${target} at ${place}: at ${time(sentAt)} ms, ${time(ms)} ms, ${fault || cacheStatus}`)
  printRow(row.name, 'edge', edge, goals)
  if (direct !== undefined) printRow(row.name, 'direct', direct)
  const missedGoals = goals.filter((goal) => !isReached(goal))
  missed.push(...missedGoals.map((goal) => `${row.name}: ${textOf(goal)}, measured ${goal.figure.toFixed(3)}`))
}
say(missed.length === 0 ? '\nall goals reached' : `\ngoals missed\n${missed.map((goal) => `  ${goal}`).join('\n')}`)
process.exitCode = missed.length === 0 ? 0 : 1
