import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { indentWithin, pretty } from '../../../src/representation/pretty.ts'

const stringified = (text: string) => `${JSON.stringify(JSON.parse(text), null, 3)}\n`

t.test('equals JSON.stringify with three spaces, whatever the value and its white space', async (t) => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t', '\n\r '), (text, space) => {
      const spaced = JSON.stringify(JSON.parse(text), null, space)
      t.equal(pretty(spaced).toString(), stringified(text))
      t.equal(pretty(Buffer.from(spaced)).toString(), stringified(text))
    }),
    { numRuns: 300 },
  )
})

t.test('long bodies are indented in blocks without a difference', async (t) => {
  const long = 'x"\\'.repeat(150_000)
  const values = [long, [long, long], { [long]: 1 }, Array.from({ length: 50_000 }, (_, id) => ({ id, group: [] }))]
  for (const [at, value] of values.entries()) {
    const text = JSON.stringify(value)
    t.ok((await indentWithin(Buffer.from(text))).equals(Buffer.from(stringified(text))), `value ${at}`)
  }
})

t.test('numbers, escapes and the order of names do not change', async (t) => {
  const texts = [
    '{"a":1e400,"n":12345678901234567890,"z":-0,"f":1.50}',
    '{"b":1,"2":1,"1":1,"b":2}',
    '["\\u0041\\/\\ud800"]',
  ]
  for (const text of texts) {
    t.equal(pretty(text).toString().replace(/[ \n]/g, ''), text)
  }
})

t.test('brackets, commas and escaped quotes inside strings are text', async (t) => {
  for (const text of ['{"a{[\\"":"]},: \\\\"}', '{}', '[]', '[{}, [ ]]', '"x"', '7', '[[[]],{"a":{}}]']) {
    t.equal(pretty(text).toString(), stringified(text))
  }
})

t.test('equals what the real API wrote for pretty', async (t) => {
  const lines = readFileSync(new URL('../../contract/exchanges/real-cluster.jsonl', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const bodies = lines
    .map((line) => JSON.parse(line) as { request: { path: string }; response: { body?: string } })
    .filter(({ request, response }) => /[?&]pretty/.test(request.path) && response.body?.startsWith('{'))
    .map(({ response }) => response.body ?? '')
  t.ok(bodies.length >= 5, 'there are recorded responses')
  for (const body of bodies) t.equal(pretty(JSON.stringify(JSON.parse(body))).toString(), body)
})

t.test('the result for a text of brackets grows linearly', async (t) => {
  const deep = 100_000
  const text = pretty('['.repeat(deep) + ']'.repeat(deep))
  t.ok(text.length < 2 * deep * 310)
  t.doesNotThrow(() => JSON.parse(text.toString()))
})
