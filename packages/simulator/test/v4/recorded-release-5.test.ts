import t from 'tap'
import { explain } from './recorded/differences.ts'
import { reasonsOf5, release5 } from './recorded/release-5.ts'
import { replay } from './recorded/replay.ts'

t.test('the simulated cluster answers the recording of release 5.0 as the real one did', async (t) => {
  const { exchanges, differences, thrown } = await replay(release5)
  t.same(thrown, [], 'no defect of the simulator')
  t.same(
    differences.filter((difference) => explain(difference, reasonsOf5) === undefined),
    [],
    'each difference has a reason',
  )
  const used = new Set(differences.flatMap((difference) => explain(difference, reasonsOf5) ?? []))
  t.same(
    reasonsOf5.filter((reason) => !used.has(reason)),
    [],
    'each reason is needed',
  )
  t.ok(exchanges - differences.length >= MIN_AGREEING, `${exchanges - differences.length} of ${exchanges} agree`)
})

/** Exchanges; fewer are a loss of fidelity. */
const MIN_AGREEING = 705
