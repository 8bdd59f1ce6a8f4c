import fc from 'fast-check'
import t from 'tap'
import { iterateRows, rowsOf } from '../../../src/collections/rows.ts'

/** Writes JSON with arbitrary white space. */
function spaced(value: unknown, spaces: readonly string[]): string {
  let at = 0
  const space = () => spaces[at++ % spaces.length] ?? ''
  const write = (one: unknown): string => {
    if (Array.isArray(one)) return `[${space()}${one.map((inner) => space() + write(inner) + space()).join(',')}]`
    if (typeof one !== 'object' || one === null) return JSON.stringify(one)
    const members = Object.entries(one).map(([name, inner]) => {
      return `${space()}${JSON.stringify(name)}${space()}:${space()}${write(inner)}${space()}`
    })
    return `{${space()}${members.join(',')}}`
  }
  return space() + write(value) + space()
}

const spaces = fc.array(fc.constantFrom('', '', ' ', '\n', '\t ', '\r\n'), { minLength: 1, maxLength: 7 })
const tricky = fc.constantFrom(
  '],"totalItems":9}}',
  '{"items":[',
  '"]',
  '\\"',
  '}]',
  'totalItems',
  '\\',
  '\u2028',
  '[{',
)
const anything = fc.oneof(fc.jsonValue({ maxDepth: 4 }), tricky, fc.array(tricky), fc.dictionary(tricky, tricky))
const rows = fc.oneof(
  fc.array(fc.dictionary(fc.string(), anything, { noNullPrototype: true }), { maxLength: 6 }),
  fc.array(fc.oneof(fc.string(), tricky), { maxLength: 6 }),
  fc.array(anything, { maxLength: 6 }),
)
const others = fc.dictionary(fc.constantFrom('x', 'y', 'items ', 'failed_nodes'), anything, { noNullPrototype: true })

/** A response with its members in any order, and others beside them. */
const responses = fc
  .record({ items: rows, totalItems: fc.nat(), inner: others, outer: others, turn: fc.nat(5), turnOuter: fc.nat(5) })
  .map(({ items, totalItems, inner, outer, turn, turnOuter }) => {
    const data = Object.fromEntries(turned([...Object.entries({ items, totalItems }), ...Object.entries(inner)], turn))
    return Object.fromEntries(turned([...Object.entries({ error: 0, data }), ...Object.entries(outer)], turnOuter)) as {
      readonly data: { readonly items: unknown[]; readonly totalItems: number }
    }
  })

function turned<T>(list: readonly T[], by: number): T[] {
  const at = by % list.length
  return [...list.slice(at), ...list.slice(0, at)]
}

async function readsAsJson(text: string): Promise<boolean> {
  const { items, totalItems } = JSON.parse(text).data
  const found = await rowsOf(Buffer.from(text))
  if (!found.ok) return false
  const got = [...iterateRows(found.rows)].map((row) => JSON.parse(row.toString()))
  return found.rows.total === totalItems && JSON.stringify(got) === JSON.stringify(items)
}

t.test('rows and total are those that JSON.parse finds, whatever the rows contain and surrounds them', async (t) => {
  await fc.assert(
    fc.asyncProperty(responses, spaces, (response, spaces) => readsAsJson(spaced(response, spaces))),
    { numRuns: 1000 },
  )
  t.pass('no counterexample was found')
})

t.test('rows of several kinds in front of members that look like the usual ending are read correctly', async (t) => {
  for (const text of [
    '{"error":0,"data":{"totalItems":7,"items":[{},5],"x":[{}]}}',
    '{"error":0,"data":{"totalItems":7,"items":[{},"]"],"x":[{"a":[1]}]}}',
    '{"error":0,"data":{"items":["a",[{}]],"x":["b"],"totalItems":2}}',
  ]) {
    t.ok(await readsAsJson(text), `read as JSON.parse does: ${text}`)
  }
})

t.test('a truncated body is refused', async (t) => {
  await fc.assert(
    fc.asyncProperty(responses, fc.nat(), async (response, at) => {
      const whole = Buffer.from(JSON.stringify(response))
      return !(await rowsOf(whole.subarray(0, at % whole.length))).ok
    }),
    { numRuns: 1000 },
  )
  t.pass('no truncated body was accepted')
})

t.test('bytes that are lost, doubled or changed between rows are detected', async (t) => {
  const text = '{"error":0,"data":{"items":[{"a":"b"},{"c":[1,{"d":2}]},{"e":"]"}],"totalItems":3}}'
  t.ok((await rowsOf(Buffer.from(text))).ok)
  for (const wrong of [
    text.replace('},{', '}{'),
    text.replace('},{', '},,{'),
    text.replace('],"t', ',],"t'),
    text.replace('[{', '[,{'),
    text.replace('"]"', '"]'),
    text.replace('{"d":2}', '{"d":2]'),
    text.replace('[1,', '1,'),
    text.replace('}}', '}'),
    `${text}}`,
    `${text} x`,
    `x${text}`,
    text.replace('"items":', '"items"'),
    text.replace('"data":', ''),
    text.replace('"totalItems":3', '"totalItems":03'),
    text.replace('"totalItems":3', '"totalItems":-3'),
    text.replace('"totalItems":3', '"totalItems":"3"'),
    text.replace('"error":0', '"error":1017'),
    text.replace('"error":0', '"error":00'),
    text.replace('"error":0,', ''),
    '<html>[{}],"totalItems":1}}',
    '',
  ]) {
    t.notOk((await rowsOf(Buffer.from(wrong))).ok, `not read: ${wrong}`)
  }
})

t.test('a response that has a known name twice is refused, as the check of responses does', async (t) => {
  for (const [text, name] of [
    ['{"error":0,"data":{"items":[{"a":1}],"totalItems":1},"data":{"items":[{"a":2},{}],"totalItems":2}}', 'data'],
    ['{"error":0,"data":{"items":[{"a":1}],"items":[{"a":2}],"totalItems":1}}', 'items'],
    ['{"error":0,"data":{"items":[{}],"totalItems":1,"x":[{}],"totalItems":4}}', 'totalItems'],
    ['{"error":1,"error":0,"data":{"items":["a"],"\\u0074otalItems":1}}', 'error'],
  ]) {
    t.strictSame(await rowsOf(Buffer.from(text ?? '')), { ok: false, reason: `the member ${name} twice` })
  }
})
