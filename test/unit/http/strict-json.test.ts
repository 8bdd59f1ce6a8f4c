import fc from 'fast-check'
import t from 'tap'
import type { EdgeError } from '../../../src/core/errors.ts'
import { parseStrictValue } from '../../../src/http/strict-json.ts'
import { measureBestRun } from '../../support/event-loop.ts'

const parse = (text: string) => parseStrictValue(Buffer.from(text))

t.test('a text is parsed as by JSON.parse, or refused as by it', async (t) => {
  const texts = fc.oneof(
    fc.json(),
    fc.json().map((text) => JSON.stringify(JSON.parse(text), null, 2)),
    fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom(...'"\\{}[],:e-0.1tn \n\t\u0001\u007fé'))
      .map(([text, at, character]) => {
        const place = at % (text.length + 1)
        return text.slice(0, place) + character + text.slice(place + 1)
      }),
  )
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      let expected: { readonly value: unknown } | undefined
      try {
        expected = { value: JSON.parse(text) }
      } catch {
        expected = undefined
      }
      try {
        t.strictSame({ value: await parse(text) }, expected)
      } catch (error) {
        const { code, cause, message } = error as EdgeError
        if (code !== 614) throw error
        const isStricter = /a name twice|forbidden name|surrogate pair/.test(message)
        t.ok(isStricter || (expected === undefined && cause instanceof SyntaxError), `${text}: ${message}`)
      }
    }),
    { numRuns: 500 },
  )
})

t.test('what other parsers read in another way is refused', async (t) => {
  const refused = {
    'a name twice': '{"a":1,"\\u0061":2}',
    'a forbidden name': '[{"__class__":1}]',
    'half of a surrogate pair': '["\\ud83d"]',
    'a number of more than 4300 digits': '1'.repeat(4301),
    'more than 100000 values': `[${'1,'.repeat(1e5)}1]`,
    'an object with more than 10000 members': `{${Array.from({ length: 10_001 }, (_, at) => `"n${at}":1`)}}`,
    'deeper than 32 levels': '['.repeat(33) + ']'.repeat(33),
  }
  for (const [reason, text] of Object.entries(refused))
    await t.rejects(parse(text), { code: 614, message: new RegExp(reason) }, reason)
  await t.rejects(parseStrictValue(Buffer.from([0x22, 0xff, 0x22])), { code: 614, message: /not UTF-8/ })
  t.strictSame(await parse(`\uFEFF${'['.repeat(32)}"\\ud83d\\ude00"${']'.repeat(32)}`), nested32('😀'))
})

function nested32(value: unknown): unknown {
  let nested = value
  for (let level = 0; level < 32; level += 1) nested = [nested]
  return nested
}

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20
const LENGTH = 10 * 1024 * 1024

t.test('no JSON of the greatest size holds the event loop', async (t) => {
  const fill = (text: string) => text.repeat(LENGTH / text.length)
  const bodies = {
    events: JSON.stringify({ events: Array.from({ length: 100 }, () => 'e'.repeat(LENGTH / 101)) }),
    'one string': `{"a":"${fill('a')}"}`,
    'one string of umlauts': `{"a":"${fill('ü')}"}`,
    escapes: `{"a":"${fill('\\n')}"}`,
    'escapes one by one': `{"a":"${fill('x\\u00e9')}"}`,
    numbers: `{"a":[${fill('1,')}1]}`,
    'one number': `{"a":${fill('1')}}`,
    objects: `{"a":[${fill('{"a":1},')}1]}`,
    'white space': `{"a":${fill(' ')}1}`,
    'many names': `{${Array.from({ length: 600_000 }, (_, at) => `"n${at}":1`)}}`,
    'no JSON': `{"a":"${fill('1,')}`,
  }
  for (const [what, text] of Object.entries(bodies)) {
    const bytes = Buffer.from(text)
    const longest = await measureBestRun(() => parseStrictValue(bytes).catch(() => undefined), MAX_TURN_MS)
    t.ok(longest < MAX_TURN_MS, `${what}: ${longest.toFixed(1)} ms of CPU time in the longest turn`)
  }
})
