import fc from 'fast-check'
import t from 'tap'
import { scanEnvelope } from '../../../src/core/envelope-scan.ts'
import { endOfValue } from '../../../src/core/json-scan.ts'
import { runTask } from '../../../src/core/turns.ts'

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

t.test('the scan accepts the texts that JSON.parse accepts', async (t) => {
  let accepted = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(nearlyJson, async (text) => {
      const bytes = Buffer.from(text)
      const isAccepted = (await runTask(scanEnvelope(bytes))) !== undefined
      if (isAccepted) accepted++
      else refused++
      return isAccepted === isJson(bytes.toString())
    }),
    { numRuns: 20_000 },
  )
  t.ok(accepted > 2000 && refused > 2000, `${accepted} accepted, ${refused} refused`)
})

t.test('a value of checked JSON ends where its text ends, and is longer than fewer bytes', async () => {
  const follows = fc.constantFrom(', "next": 1}', ']', '\n}', ' ,')
  fc.assert(
    fc.property(fc.json({ maxDepth: 4 }), fc.constantFrom(undefined, 1, '\t'), follows, (json, indent, after) => {
      const text = indent === undefined ? json : JSON.stringify(JSON.parse(json), undefined, indent)
      const bytes = Buffer.from(`"name": ${text}${after}`)
      const [start, length] = [8, Buffer.byteLength(text)]
      return endOfValue(bytes, start) === start + length && endOfValue(bytes, start, length - 1) < 0
    }),
    { numRuns: 20_000 },
  )
})

t.test('each number, literal and escape of RFC 8259 is accepted, and what resembles it is not', async (t) => {
  const accepts = async (text: string) => (await runTask(scanEnvelope(Buffer.from(text)))) !== undefined
  for (const text of ['0', '-0', '10', '1.5', '1e5', '1E+5', '1.0e-05', 'true', 'false', 'null', '"\\u00eF"', '"\\/"'])
    t.ok(await accepts(text), text)
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
  ])
    t.notOk(await accepts(text), text)
})

t.test('a value that is nested deeper than 100 levels is refused', async (t) => {
  const accepts = async (depth: number) => {
    const bytes = Buffer.from('['.repeat(depth) + ']'.repeat(depth))
    return (await runTask(scanEnvelope(bytes))) !== undefined
  }
  t.ok(await accepts(100))
  t.notOk(await accepts(101))
  t.notOk(await accepts(100_000))
})
