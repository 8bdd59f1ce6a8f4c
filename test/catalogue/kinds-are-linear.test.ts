import t from 'tap'
import { kinds } from '../../src/catalogue/schemas/kinds.ts'

t.test('patterns are anchored', async (t) => {
  for (const [name, kind] of Object.entries(kinds)) {
    if ('pattern' in kind) t.match(kind.pattern, /^\^.*\$$/, name)
  }
})
