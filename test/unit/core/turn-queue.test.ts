import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { TurnQueue } from '../../../src/core/turn-queue.ts'

t.test('steps run at the end of the turn, in their order, a number of them in each', async (t) => {
  const turns: (readonly number[])[] = []
  const queue = new TurnQueue<number>(3, (steps) => void turns.push(steps))
  for (let step = 1; step <= 7; step += 1) queue.add(step)
  t.strictSame(turns, [], 'none at once')
  for (let turn = 0; turn < 4; turn += 1) await nextTurn()
  t.strictSame(turns, [[1, 2, 3], [4, 5, 6], [7]])
  t.equal(queue.isEmpty, true)
})

t.test('a step that is added by another one runs in a later turn, behind those that wait', async (t) => {
  const turns: (readonly number[])[] = []
  const queue = new TurnQueue<number>(2, (steps) => {
    turns.push(steps)
    if (steps.includes(1)) queue.add(9)
    t.equal(queue.isEmpty, steps.includes(9))
  })
  for (const step of [1, 2, 3]) queue.add(step)
  for (let turn = 0; turn < 4; turn += 1) await nextTurn()
  t.strictSame(turns, [
    [1, 2],
    [3, 9],
  ])
})
