/**
 * Prints which part of the answers dashboards get within a second beside bulk and impatient clients, in virtual time
 * (`npm run bench:crowds`): the crowds of `npm run bench:relief`, each with several seeds in seconds.
 */
import { readOptions } from '../support/script-options.ts'
import { type Crowd, simulate, VirtualTime } from './relief/simulation.ts'

const { values } = readOptions({
  name: 'bench:crowds',
  purpose: 'Simulates the crowds of bench:relief in front of the real cache and queue, in virtual time.',
  options: {
    only: { kind: 'pattern', meaning: 'simulate the rows whose name matches' },
    seeds: { kind: 'number', value: 'COUNT', meaning: 'number of seeds (default 4)' },
    late: { kind: 'flag', meaning: 'print each late answer' },
  },
})
const { only, seeds = 4 } = values

const CONNECTIONS: readonly Crowd['connections'][] = ['pool', 'own', 'each']
const ROWS: readonly Omit<Crowd, 'connections'>[] = [
  ...[20, 100].flatMap((people) =>
    [12, 240].flatMap((bulk) => ['browser', 'writer'].map((user) => ({ people, bulk, user }))),
  ),
  { people: 20, impatient: 10, user: 'writer' },
]

const nameOf = ({ people, bulk, user, connections }: Crowd): string => {
  const others = bulk === undefined ? '10 impatient scripts' : `${bulk} bulk clients of ${user}`
  return `${people} dashboards of browser, ${others}, connections: ${connections}`
}

const time = new VirtualTime()
for (const crowd of ROWS.flatMap((row) => CONNECTIONS.map((connections) => ({ ...row, connections })))) {
  const name = nameOf(crowd)
  if (only?.test(name) === false) continue
  const figures: string[] = []
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { within, bulkShare, late } = await simulate(time, crowd, seed)
    figures.push(`${(100 * within).toFixed(1)} (${(100 * bulkShare).toFixed(0)})`)
    if (!values.late) continue
    for (const { path, at, ms, how } of late)
      console.log(`  ${path}: at ${Math.round(at)} ms, ${Math.round(ms)} ms, ${how}`)
  }
  console.log(`${name}: ${figures.join(', ')} % within 1 s (bulk, of what is left over)`)
}
process.exit(0)
