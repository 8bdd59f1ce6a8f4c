import t from 'tap'
import { newRequestId } from '../../../src/core/request-ids.ts'

const IDS = 20_000
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

t.test('each request gets an id of its own, a random UUID of version 4', (t) => {
  const ids = Array.from({ length: IDS }, newRequestId)
  t.equal(ids.filter((id) => !UUID_4.test(id)).length, 0, 'all have the form of RFC 9562')
  t.equal(new Set(ids).size, IDS, 'no id is given twice')
  t.end()
})

t.test('each random digit of an id has each value', (t) => {
  const seen = Array.from({ length: 36 }, () => new Set<string>())
  for (let count = 0; count < IDS; count++)
    for (const [at, digit] of [...newRequestId()].entries()) seen[at]?.add(digit)
  const sizes = seen.map(({ size }) => size)
  const expected = Array.from({ length: 36 }, (_, at) => ([8, 13, 14, 18, 23].includes(at) ? 1 : at === 19 ? 4 : 16))
  t.strictSame(sizes, expected)
  t.end()
})
