import t from 'tap'
import { ownEntry, ownField, ownText } from '../../../src/core/values.ts'

t.test('inherited names are not found', async (t) => {
  const record: Record<string, string> = { a: 'x' }
  t.equal(ownEntry(record, 'a'), 'x')
  for (const name of ['constructor', '__proto__', 'toString']) {
    t.equal(ownEntry(record, name), undefined)
    t.equal(ownField(record, name), undefined)
  }
  t.equal(ownEntry(undefined, 'a'), undefined)
})

t.test('a value that is no object has no fields', async (t) => {
  for (const value of [undefined, null, 1, 'text', true]) t.equal(ownField(value, 'length'), undefined)
  t.equal(ownField(JSON.parse('{"__proto__":1}'), '__proto__'), 1, 'an own field of that name is found')
})

t.test('only text is returned as text', async (t) => {
  t.equal(ownText({ a: 'x' }, 'a'), 'x')
  t.equal(ownText({ a: 1 }, 'a'), undefined)
})
