import t from 'tap'
import { otherFields } from '../server/other-fields.ts'

t.test('a field that no view knows is shown with its name in words, and its value as text', async (t) => {
  t.strictSame(
    otherFields({ group: 'agents', servedFor: 5000, isShared: true, nodes: ['a', 'b'], absent: undefined }),
    [
      ['group', 'agents'],
      ['served for', '5000'],
      ['is shared', 'true'],
      ['nodes', '["a","b"]'],
    ],
  )
})
