/** The long form of `rounds.test.ts`. */
import t from 'tap'
import { playRound, startStage } from './rounds.ts'

t.test('a queued call that no connected client awaits is dropped, and no other', async (t) => {
  const stage = await startStage(t)
  const first = Date.now() % 1_000_000
  for (let seed = first; seed < first + 12; seed += 1) {
    t.strictSame(await playRound(stage, { clients: 20 + (seed % 80), seed }), [], `seed ${seed}`)
  }
})
