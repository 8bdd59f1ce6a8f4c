import fc from 'fast-check'
import t from 'tap'
import { endOfValue, skipSpace } from '../../../src/core/json-scan.ts'

/** JSON texts, some with white space, and most of them with a few changed, added or removed characters. */
const nearlyJson = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.constantFrom(undefined, 1, '\t'),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(2),
        fc.constantFrom(...'{}[]:,"\\ntrue0123456789.-+eEu/ \t\r\n', '\u0001', '\u007f', 'é', '\ud83d\ude00'),
      ),
      { maxLength: 3 },
    ),
  )
  .map(([json, indent, changes]) => {
    let text = indent === undefined ? json : JSON.stringify(JSON.parse(json), undefined, indent)
    for (const [at, removed, added] of changes) {
      const place = text.length === 0 ? 0 : at % text.length
      text = text.slice(0, place) + added + text.slice(place + removed)
    }
    return text
  })

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

t.test('the scan accepts the texts that JSON.parse accepts, and ends at their ends', async (t) => {
  let accepted = 0
  let refused = 0
  fc.assert(
    fc.property(nearlyJson, (text) => {
      const bytes = Buffer.from(text)
      const end = endOfValue(bytes, skipSpace(bytes, 0))
      const isAccepted = end >= 0 && skipSpace(bytes, end) === bytes.length
      if (isAccepted) accepted++
      else refused++
      return isAccepted === isJson(bytes.toString())
    }),
    { numRuns: 20_000 },
  )
  t.ok(accepted > 2000 && refused > 2000, `${accepted} accepted, ${refused} refused`)
})

t.test('each number, literal and escape of RFC 8259 is accepted, and what resembles it is not', async (t) => {
  for (const text of ['0', '-0', '10', '1.5', '1e5', '1E+5', '1.0e-05', 'true', 'false', 'null', '"\\u00eF"', '"\\/"'])
    t.equal(endOfValue(Buffer.from(text), 0), text.length, text)
  for (const text of [
    '01',
    '-',
    '.5',
    '1.',
    '1e',
    '1e+',
    '+1',
    'tru',
    'nul',
    'NaN',
    '"\\x"',
    '"\\u00g0"',
    '"\t"',
    "'a'",
  ]) {
    const end = endOfValue(Buffer.from(text), 0)
    t.not(end, text.length, text)
  }
})

t.test('a value that is nested deeper than 100 levels is refused', async (t) => {
  const nested = (depth: number) => Buffer.from('['.repeat(depth) + ']'.repeat(depth))
  t.equal(endOfValue(nested(100), 0), 200)
  t.equal(endOfValue(nested(101), 0), -1)
  t.equal(endOfValue(nested(100_000), 0), -1)
})
