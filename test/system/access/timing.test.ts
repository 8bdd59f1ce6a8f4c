import t from 'tap'
import { basic, startEdge } from './edge.ts'

const SAMPLES = 200

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
const steady = (values: number[]) => values.sort((a, b) => a - b).slice(0, Math.floor(values.length * 0.9))

t.test('the refusal of known and unknown users takes the same time', async (t) => {
  const edge = await startEdge(t, { limits: { failedLogins: 100_000 } })
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  // Alternating, so that a slow moment of the machine affects both kinds.
  for (let index = 0; index < SAMPLES + 20; index++) {
    for (const kind of ['known', 'unknown'] as const) {
      const line = basic(kind === 'known' ? 'bob' : 'bab', `guess ${index}`)
      const start = performance.now()
      await edge.ask([line])
      if (index >= 20) times[kind].push(performance.now() - start)
    }
  }
  const distance = welch(steady(times.known), steady(times.unknown))
  t.ok(distance < 4.5, `t = ${distance.toFixed(2)}`)
})
