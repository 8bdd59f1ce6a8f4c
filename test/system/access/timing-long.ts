/**
 * The long check of unknown users (`npm run check:timing`): refusals of known and unknown users take the same time, by
 * Welch's t of 2,000 samples each. The suite checks that both do the same work: test/unit/access/unknown-users.test.ts.
 */
import { readOptions } from '../../support/script-options.ts'
import { basic, startEdge } from './edge.ts'

const { values } = readOptions({
  name: 'check:timing',
  purpose: 'Compares the times of refused logins of known and unknown users.',
  options: { samples: { kind: 'number', meaning: 'refusals of each kind (default 2000)' } },
})
const { samples = 2000 } = values
const WARM_UP = 20
const MAX_T = 4.5

/** Returns Welch's t of two samples: the distance of their means in standard errors. */
function welch(a: readonly number[], b: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const error = (values: readonly number[]) => {
    const middle = mean(values)
    return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1) / values.length
  }
  return Math.abs(mean(a) - mean(b)) / Math.sqrt(error(a) + error(b))
}

/** Drops the slowest tenth, which other processes of the machine cause. */
const steady = (times: number[]) => times.sort((a, b) => a - b).slice(0, Math.floor(times.length * 0.9))

const ends: (() => unknown)[] = []
const edge = await startEdge({ teardown: (end) => void ends.unshift(end) }, { limits: { failedLogins: () => 100_000 } })
const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
// Alternating, so that a slow moment of the machine affects both kinds.
for (let index = 0; index < samples + WARM_UP; index++) {
  for (const kind of ['known', 'unknown'] as const) {
    const line = basic(kind === 'known' ? 'bob' : 'bab', `guess ${index}`)
    const start = performance.now()
    await edge.ask([line])
    if (index >= WARM_UP) times[kind].push(performance.now() - start)
  }
}
const distance = welch(steady(times.known), steady(times.unknown))
console.log(
  `${distance < MAX_T ? 'ok' : 'NOT OK'} – t = ${distance.toFixed(2)} of ${samples} samples each (limit ${MAX_T})`,
)
for (const end of ends) await end()
process.exitCode = distance < MAX_T ? 0 : 1
