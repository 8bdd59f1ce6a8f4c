import t from 'tap'
import { explain, reasons } from './recorded/differences.ts'
import { replay } from './recorded/replay.ts'

t.test('the simulated cluster answers the recorded contract as the real one did', async (t) => {
  const { exchanges, differences, thrown } = await replay()
  t.same(thrown, [], 'no defect of the simulator')
  t.equal(exchanges, 2762)
  t.same(
    differences.filter((difference) => explain(difference) === undefined),
    [],
    'each difference has a reason',
  )
  const used = new Set(differences.flatMap((difference) => explain(difference) ?? []))
  t.same(
    reasons.filter((reason) => !used.has(reason)),
    [],
    'each reason is needed',
  )
  // The reasons leave room for whole operations, so that the number guards the rest of them.
  t.ok(exchanges - differences.length >= MIN_AGREEING, `${exchanges - differences.length} of ${exchanges} agree`)
})

/** Exchanges; fewer are a loss of fidelity. */
const MIN_AGREEING = 2648
