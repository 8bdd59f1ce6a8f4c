/** When a queue of a node grows. */
import { mock } from 'node:test'
import t from 'tap'
import { QueueTrends } from '../../../src/status/queue-trends.ts'

mock.timers.enable({ apis: ['setInterval'] })
t.teardown(() => mock.timers.reset())

/** Returns the growing queue after samples of these lengths; `undefined`: the node is not listed. */
function growthAfter(...lengths: (number | undefined)[]) {
  let length: number | undefined
  const trends = new QueueTrends(() => (length === undefined ? [] : [{ name: 'worker-1', queue: length }]))
  for (length of lengths) mock.timers.tick(1000)
  trends.stop()
  return trends.growing()
}

const rising = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

t.test('a queue that becomes longer for ten seconds grows', async (t) => {
  t.strictSame(growthAfter(...rising), [{ node: 'worker-1', from: 1, to: 10 }])
  t.strictSame(growthAfter(...rising.slice(0, -1)), [], 'not before ten samples')
})

t.test('a queue that is steady, becomes shorter or was empty does not grow', async (t) => {
  t.strictSame(growthAfter(9, 10, 11, 10, 9, 10, 9, 11, 10, 10), [])
  t.strictSame(growthAfter(...[...rising].reverse()), [])
  t.strictSame(growthAfter(0, 9, 9, 9, 9, 20, 20, 20, 20, 20), [])
})

t.test('a queue that stays long after it grew is reported until it is as short as before', async (t) => {
  t.strictSame(growthAfter(...rising, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10), [
    { node: 'worker-1', from: 1, to: 10 },
  ])
  t.strictSame(growthAfter(...rising, 1), [])
})

t.test('a node that is not listed any more is forgotten', async (t) => {
  t.strictSame(growthAfter(...rising, undefined), [])
})
