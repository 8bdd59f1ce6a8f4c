import t from 'tap'
import { waitForJsonTurn } from '../../../src/core/turns.ts'

const KIB = 1024

/** Returns the number of the turn in which each caller may work. All call in turn 0. */
async function turnsOf(sizes: readonly number[]): Promise<readonly number[]> {
  await new Promise((resolve) => setImmediate(resolve))
  let turn = 0
  let isDone = false
  const count = () => {
    turn += 1
    if (!isDone) setImmediate(count)
  }
  // Before the first caller, so that it counts a turn before others begin to work in it.
  setImmediate(count)
  const turns = Promise.all(
    sizes.map(async (bytes) => {
      await waitForJsonTurn(bytes)
      return turn
    }),
  )
  return turns.finally(() => {
    isDone = true
  })
}

t.test('a piece that comes alone does not wait, however long it is', async (t) => {
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(waitForJsonTurn(10_000 * KIB), undefined)
})

t.test('long pieces of one turn get separate turns, in their order', async (t) => {
  const turns = await turnsOf([200 * KIB, 200 * KIB, 200 * KIB, 200 * KIB])
  t.equal(turns[0], 0)
  t.equal(new Set(turns).size, 4)
  t.strictSame([...turns].sort(), turns)
})

t.test('short pieces share a turn', async (t) => {
  t.strictSame(await turnsOf([1 * KIB, 2 * KIB, 3 * KIB, 4 * KIB]), [0, 0, 0, 0])
  const turns = await turnsOf(Array.from({ length: 12 }, () => 60 * KIB))
  const counts = new Map<number, number>()
  for (const turn of turns) counts.set(turn, (counts.get(turn) ?? 0) + 1)
  t.strictSame([...counts.values()], [3, 3, 3, 3])
})

t.test('a short piece does not overtake a long one that waits', async (t) => {
  const [, long = 0, short = 0] = await turnsOf([180 * KIB, 180 * KIB, 1 * KIB])
  t.ok(long > 0)
  t.ok(short >= long)
})
