import t from 'tap'
import { basic, startEdge } from './edge.ts'

const SAMPLES = 200

/** Welch's t of two samples: how many standard errors their means are apart. */
function welch(a: readonly number[], b: readonly number[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const error = (values: readonly number[]) => {
    const middle = mean(values)
    return values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1) / values.length
  }
  return Math.abs(mean(a) - mean(b)) / Math.sqrt(error(a) + error(b))
}

/** Without the slowest tenth: what other processes of the machine did. */
const steady = (values: number[]) => values.sort((a, b) => a - b).slice(0, Math.floor(values.length * 0.9))

t.test('the refusal of known and unknown users takes the same time', async (t) => {
  const edge = await startEdge(t, { limits: { failedLogins: 100_000 } })
  const times: Record<'known' | 'unknown', number[]> = { known: [], unknown: [] }
  // In turns, so that a slow moment of the machine meets both.
  for (let index = 0; index < SAMPLES + 20; index++) {
    for (const kind of ['known', 'unknown'] as const) {
      const line = basic(kind === 'known' ? 'bob' : 'bab', `guess ${index}`)
      const start = performance.now()
      await edge.ask([line])
      if (index >= 20) times[kind].push(performance.now() - start)
    }
  }
  const apart = welch(steady(times.known), steady(times.unknown))
  t.ok(apart < 4.5, `t = ${apart.toFixed(2)}`)
})
