import t from 'tap'
import { assertExplained } from './recorded/differences.ts'
import { reasonsOf5, release5 } from './recorded/release-5.ts'
import { replay } from './recorded/replay.ts'

t.test('the simulated cluster answers the recording of release 5.0 as the real one did', async (t) => {
  assertExplained(t, await replay(release5), reasonsOf5, MIN_AGREEING)
})

const MIN_AGREEING = 705
