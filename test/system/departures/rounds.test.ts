/** Which calls are made for clients that leave: reads and writes, queued and sent, shared by clients and by two replicas. */
import t from 'tap'
import { playRound, startStage } from './rounds.ts'

t.test('a queued call that no connected client awaits is dropped, and no other', async (t) => {
  t.strictSame(await playRound(await startStage(t), { clients: 60, seed: 1 }), [])
})
