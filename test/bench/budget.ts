/**
 * Clients of either contract in front of a simulated release 5.0, whose API takes 300 calls a minute of the edge, and ten to
 * unknown paths (`npm run bench:budget`). Each answer is compared with that of a client who is alone. Ends with code 1 if a
 * goal is missed.
 */
import { readOptions } from '../support/script-options.ts'
import { type BudgetFigures, type BudgetRow, measureBudget } from './budget/measure.ts'

const { values } = readOptions({
  name: 'bench:budget',
  purpose: 'Counts the calls that many clients cause in front of release 5.0, and what these clients get.',
  options: {
    only: { kind: 'pattern', meaning: 'measure the rows whose name matches, such as "service v4"' },
    seconds: { kind: 'number', value: 'SECONDS', meaning: 'duration of each row (default 150)' },
    clients: { kind: 'number', meaning: 'clients in mode service (default 1000)' },
    users: { kind: 'number', meaning: 'users in mode passthrough (default 100)' },
  },
})
const { only, seconds = 150, clients = 1000, users = 100 } = values

/** Milliseconds. */
const PAUSE = 5_000
const MOST_CALLS_PER_MINUTE = 270

const rows: readonly BudgetRow[] = (['service', 'passthrough'] as const).flatMap((mode) =>
  (['v4', 'v3'] as const).map((contract) => ({ mode, contract, clients: mode === 'service' ? clients : users })),
)

function goalsMissed({ mode, contract, clients }: BudgetRow, figures: BudgetFigures): string[] {
  const { mostPerMinute, tooMany, unknown, wrong, refused, first } = figures
  const unanswered = first.filter((ms) => !Number.isFinite(ms)).length
  const isShared = mode === 'service' || contract === 'v4'
  const goals: readonly (readonly [isMet: boolean, text: string])[] = [
    [mostPerMinute <= MOST_CALLS_PER_MINUTE, `at most ${MOST_CALLS_PER_MINUTE} calls in a minute`],
    [tooMany === 0, 'no 429 of the master'],
    [unknown === 0, 'no call to an unknown path'],
    [wrong.length === 0, 'each answer as that of a client who is alone'],
    // Users of the manager share no responses on the v3 port: 100 of them want more than 300 calls a minute.
    [isShared ? refused.size === 0 : true, 'no 503'],
    [isShared ? unanswered === 0 : true, `an answer for each of ${clients} clients`],
  ]
  return goals.flatMap(([isMet, text]) => (isMet ? [] : [text]))
}

const listOf = (counts: ReadonlyMap<unknown, number>) =>
  [...counts].map(([what, count]) => `${count} × ${what}`).join(', ') || 'none'

const missed: string[] = []
for (const row of rows) {
  const name = `${row.mode} ${row.contract}, ${row.clients} clients`
  if (only?.test(name) === false) continue
  const figures = await measureBudget({ ...row, seconds, pause: PAUSE })
  const first = figures.first.toSorted((a, b) => a - b).map((ms) => (ms / 1000).toFixed(1))
  console.log(
    [
      `${name}, ${seconds} s`,
      `calls ${figures.calls}, in the worst minute ${figures.mostPerMinute}; logins ${figures.logins}`,
      `429 of the master ${figures.tooMany}, calls to unknown paths ${figures.unknown}`,
      `right answers: ${listOf(figures.right)}`,
      `503: ${listOf(figures.refused)}; ${figures.repeated.right} of ${figures.repeated.all} repetitions answered`,
      `first answer: median ${first[Math.floor(first.length / 2)]} s, last ${first.at(-1)} s`,
      `wrong answers: ${figures.wrong.length}${figures.wrong.length > 0 ? `, such as ${figures.wrong[0]}` : ''}`,
    ].join('\n  '),
  )
  missed.push(...goalsMissed(row, figures).map((goal) => `${name}: ${goal}`))
}
console.log(missed.length === 0 ? 'all goals reached' : `goals missed\n${missed.map((goal) => `  ${goal}`).join('\n')}`)
process.exitCode = missed.length === 0 ? 0 : 1
