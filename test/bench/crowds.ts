/**
 * Prints which part of the answers dashboards get within a second (searches: 3 s) beside bulk and impatient clients, in
 * virtual time (`npm run bench:crowds`): the crowds of `npm run bench:relief`, each with several seeds in seconds. Exits with 1
 * if a crowd misses one of their goals, on average over the seeds.
 */
import { readOptions } from '../support/script-options.ts'
import { type Crowd, simulate, VirtualTime } from './relief/simulation.ts'

const { values } = readOptions({
  name: 'bench:crowds',
  purpose: 'Simulates the crowds of bench:relief in front of the real cache and queue, in virtual time.',
  options: {
    only: { kind: 'pattern', meaning: 'simulate the rows whose name matches' },
    seeds: { kind: 'number', value: 'COUNT', meaning: 'number of seeds (default 8)' },
    late: { kind: 'flag', meaning: 'print each late answer' },
  },
})
const { only, seeds = 8 } = values

/** The least part of the answers within a second. */
const goalOf = ({ bulk }: Crowd): number => (bulk === 240 ? 0.99 : 0.994)
/** The least part of what dashboards leave over that bulk clients get. */
const BULK_GOAL = 0.6

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length

const CONNECTIONS: readonly Crowd['connections'][] = ['pool', 'own', 'each']
const ROWS: readonly Crowd[] = [
  ...[20, 100].flatMap((people) =>
    [12, 240].flatMap((bulk) => ['browser', 'writer'].map((user) => ({ people, bulk, user }))),
  ),
  { people: 20, impatient: 10, user: 'writer' },
].flatMap((row) => CONNECTIONS.map((connections) => ({ ...row, connections })))
const SEARCHES: readonly Crowd[] = [12, 240].map((bulk) => {
  return { people: 20, bulk, user: 'browser', search: true, connections: 'own' }
})

const nameOf = ({ people, bulk, user, search, connections }: Crowd): string => {
  const others =
    bulk === undefined ? '10 impatient scripts' : `${bulk} bulk clients of ${user}${search ? ', all search' : ''}`
  return `${people} dashboards of browser, ${others}, connections: ${connections}`
}

const time = new VirtualTime()
let missed = 0
for (const crowd of [...SEARCHES, ...ROWS]) {
  const name = nameOf(crowd)
  if (only?.test(name) === false) continue
  const figures: string[] = []
  const [parts, bulkShares]: [number[], number[]] = [[], []]
  for (let seed = 1; seed <= seeds; seed += 1) {
    const { within, bulkShare, late } = await simulate(time, crowd, seed)
    parts.push(within)
    bulkShares.push(bulkShare)
    figures.push(`${(100 * within).toFixed(1)} (${(100 * bulkShare).toFixed(0)})`)
    if (!values.late) continue
    for (const { path, at, ms, how } of late)
      console.log(`  ${path}: at ${Math.round(at)} ms, ${Math.round(ms)} ms, ${how}`)
  }
  const goal = goalOf(crowd)
  const isMissed = mean(parts) < goal || (crowd.bulk !== undefined && mean(bulkShares) < BULK_GOAL)
  if (isMissed) missed += 1
  const goals = `goal: ${100 * goal} %${crowd.bulk === undefined ? '' : ` (${100 * BULK_GOAL})`}`
  const result = isMissed ? 'missed' : 'met'
  console.log(
    `${name}: ${figures.join(', ')} % within ${crowd.search ? '1 s, searches 3 s' : '1 s'} (bulk, of what is left over), ${goals} ${result}`,
  )
}
process.exit(missed > 0 ? 1 : 0)
