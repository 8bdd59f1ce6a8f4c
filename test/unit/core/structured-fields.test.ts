import t from 'tap'
import { serializeItem } from '../../../src/core/structured-fields.ts'

t.test('a token is written as it is', async (t) => {
  for (const text of ['master', 'worker-1', '*', 'a/b:c', 'stale-if-error']) t.equal(serializeItem(text), text)
})

t.test('any other text is a quoted string of printable ASCII', async (t) => {
  t.equal(serializeItem(''), '""')
  t.equal(serializeItem('1st'), '"1st"')
  t.equal(serializeItem('two words'), '"two words"')
  t.equal(serializeItem('a"b\\c'), '"a\\"b\\\\c"')
  t.equal(serializeItem('Zoë\r\n'), '"Zo???"')
})
