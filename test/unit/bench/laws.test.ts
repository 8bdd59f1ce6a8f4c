import t from 'tap'
import { judge, lineOf } from '../../bench/growth/laws.ts'

const points = (...values: readonly (readonly [number, number])[]) => values.map(([x, y]) => ({ x, y }))

t.test('a flat law holds while no value exceeds the first one by more than its factor', async (t) => {
  const law = { kind: 'flat', factor: 1.25 } as const
  t.equal(judge(law, points([1, 40], [100, 48], [10_000, 44]), 'µs').holds, true)
  const broken = judge(law, points([1, 40], [100, 48], [10_000, 60]), 'µs')
  t.equal(broken.holds, false)
  t.match(broken.text, 'NOT flat: at most 1.50 × 40.0 µs')
})

t.test('a linear law holds for a line and for less, and not for a square', async (t) => {
  const law = { kind: 'linear', factor: 1.3 } as const
  const counts = [1, 2, 4, 8, 16]
  const of = (cost: (count: number) => number) => judge(law, points(...counts.map((x) => [x, cost(x)] as const)), 'B')
  t.equal(of((count) => 30 + 2 * count).holds, true)
  t.equal(of(() => 30).holds, true)
  t.equal(of((count) => count ** 2).holds, false)
  t.match(of((count) => count ** 2).text, 'FASTER than linear')
})

t.test('the line of least squares has the slope of its points', async (t) => {
  t.same(lineOf(points([1, 5], [2, 7], [4, 11])), { intercept: 3, slope: 2 })
})
