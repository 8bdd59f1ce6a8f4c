import t from 'tap'
import { replay } from './recorded/replay.ts'

t.test('the simulated cluster answers the recorded contract as the real one did', async (t) => {
  const { exchanges, differences, thrown } = await replay()
  t.same(thrown, [], 'no defect of the simulator')
  const ofSecurity = differences.filter(({ operation }) => operation === '-' || operation.includes(' /security/'))
  t.same(
    ofSecurity.map(({ line }) => line),
    [2173, 2174],
    'security and routing, but for the order of the operations in a text',
  )
  t.ok(exchanges - differences.length >= 2100, `${exchanges - differences.length} of ${exchanges} agree`)
})
