import fc from 'fast-check'
import t from 'tap'
import { pickMembers } from '../../../src/collections/pick-members.ts'

const pick = (row: string, ...names: readonly string[]) =>
  pickMembers(Buffer.from(row), new Set(names), Buffer.from(', ')).toString()

t.test('members keep their bytes, their order and the spaces around the colon', async (t) => {
  const row = '{"os": {"name": "D\\u00e9bian", "major":12}, "id": "001", "size": 1.0, "tags": ["a", "b"], "empty": {}}'
  t.equal(pick(row, 'size', 'id'), '{"id": "001", "size": 1.0}')
  t.equal(pick(row, 'os.name'), '{"os": {"name": "D\\u00e9bian"}}')
  t.equal(pick(row, 'os.name', 'os.major', 'tags'), '{"os": {"name": "D\\u00e9bian", "major":12}, "tags": ["a", "b"]}')
  t.equal(pick(row, 'os'), '{"os": {"name": "D\\u00e9bian", "major":12}}')
  t.equal(pick(row, 'os.nope', 'nope', 'empty.nope', 'id.nope'), '{}')
  t.equal(pick('{"a.b": 1, "a": {"b": 2}}', 'a.b'), '{"a.b": 1, "a": {"b": 2}}')
  t.equal(pick('{ "a" : 1 ,\t"b" : 2 }', 'b'), '{"b" : 2}')
  t.equal(pick('"text"', 'a'), '"text"')
})

t.test('the values are those of the parsed row', async () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd"', 'é')
  const row = fc.dictionary(name, fc.oneof(fc.jsonValue(), fc.dictionary(name, fc.jsonValue())))
  fc.assert(
    fc.property(row, fc.uniqueArray(name), (value, names) => {
      const expected = Object.fromEntries(
        Object.entries(value).filter(([each]) => (names as readonly string[]).includes(each)),
      )
      const picked = JSON.parse(pick(JSON.stringify(value, undefined, 1), ...names))
      return JSON.stringify(picked) === JSON.stringify(JSON.parse(JSON.stringify(expected)))
    }),
  )
})
