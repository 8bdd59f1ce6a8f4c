import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { TurnQueue } from '../../../src/core/turn-queue.ts'

/** Runs the steps from 1 to `last`, and returns those of each turn. `run` is called with each step. */
async function runSteps(
  stepsPerTurn: number,
  last: number,
  run: (step: number, queue: TurnQueue<number>) => void = () => {},
): Promise<readonly number[][]> {
  const turns: number[][] = []
  const queue = new TurnQueue<number>(stepsPerTurn, (step) => {
    turns.at(-1)?.push(step)
    run(step, queue)
  })
  for (let step = 1; step <= last; step += 1) queue.add(step)
  while (!queue.isEmpty) {
    turns.push([])
    await nextTurn()
  }
  return turns
}

t.test('steps run at the end of the turn, in their order, a number of them in each', async (t) => {
  t.strictSame(await runSteps(3, 7), [[1, 2, 3], [4, 5, 6], [7]])
})

t.test('a step that is added by another one runs in a later turn, behind those that wait', async (t) => {
  const turns = await runSteps(2, 3, (step, queue) => {
    if (step < 3) queue.add(step + 7)
  })
  t.strictSame(turns, [[1, 2], [3, 8], [9]])
})

/** Returns the function that runs what the next turn of the event loop would run. */
function holdTurns(t: Test): () => void {
  const held = t.capture(globalThis, 'setImmediate', () => {})
  return () => {
    for (const { args } of held()) (args as unknown[] as [() => void])[0]()
  }
}

t.test('a step that throws does not end the others, and runs once', async (t) => {
  const ran: number[] = []
  const runTurn = holdTurns(t)
  const queue = new TurnQueue<number>(3, (step) => {
    ran.push(step)
    if (step === 1) queue.add(5)
    if (step === 2) throw new Error('the second step')
  })
  for (const step of [1, 2, 3, 4]) queue.add(step)
  t.throws(runTurn, { message: 'the second step' })
  t.strictSame(ran, [1, 2])
  runTurn()
  t.strictSame(ran, [1, 2, 3, 4, 5])
  t.equal(queue.isEmpty, true)
  queue.add(6)
  runTurn()
  t.equal(ran.at(-1), 6)
})
