import t from 'tap'
import { assertExplained, reasons } from './recorded/differences.ts'
import { replay } from './recorded/replay.ts'

t.test('the simulated cluster answers the recorded contract as the real one did', async (t) => {
  const replayed = await replay()
  t.equal(replayed.exchanges, 2762)
  // The reasons leave room for whole operations, so that the number guards the rest of them.
  assertExplained(t, replayed, reasons, MIN_AGREEING)
})

const MIN_AGREEING = 2648
