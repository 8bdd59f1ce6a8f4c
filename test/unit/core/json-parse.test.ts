import t from 'tap'
import { parseInTurns } from '../../../src/core/json-parse.ts'
import { measureBestRun } from '../../support/event-loop.ts'

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20
const SIZE = 10 * 1024 * 1024
const PIECE = 64 * 1024

const filled = (unit: string, bytes = SIZE) => unit.repeat(bytes / Buffer.byteLength(unit))
const listOf = (item: string, bytes = SIZE) => `[${filled(`${item},`, bytes)}${item}]`
const nested = (depth: number, inner: string) => `${'{"a":[1,'.repeat(depth)}${inner}${']}'.repeat(depth)}`

const texts: Readonly<Record<string, string>> = {
  'a text': `"${filled('x')}"`,
  'a text of escapes': `"${filled('\\"')}"`,
  'a text of code units': `"${filled('\\ud83d\\ude00')}"`,
  'a text of two bytes each': `"${filled('é')}"`,
  'a list of numbers': listOf('-1.5e3', SIZE / 10),
  'a list of literals': listOf(' null , true ,\nfalse', SIZE / 10),
  'a list of empty lists': listOf('[]', SIZE / 10),
  'a list of objects': listOf('{"id":"001","n":{"a":[1,{"b":"],}"}]}}'),
  'a list of long texts': listOf(`"${'x'.repeat(100_000)}"`),
  'long and short items': `[1,"${filled('x', 2 * PIECE)}",2,{"a":"${filled('y', 2 * PIECE)}"},[],{},3]`,
  'white space': ` \n{ "a" : [ 1 , "${filled('x', 2 * PIECE)}" , { } ] , "b" : 2 }\n `,
  'white space between short items': `[1${filled(' ', SIZE / 4)},${filled(' ', SIZE / 4)}2${filled(' ', SIZE / 4)}]`,
  'white space between short members': `{"a"${filled(' ', SIZE / 4)}:1,"b":2${filled(' ', SIZE / 2)}}`,
  'an object with many members': `{${Array.from({ length: 50_000 }, (_, at) => `"n${at}":${at}`)}}`,
  'an object with a long name': `{"a":1,"${filled('n', 2 * PIECE)}":"${filled('v', 2 * PIECE)}","b":[]}`,
  'a name of prototypes': `{"__proto__":{"a":"${filled('x', 2 * PIECE)}"},"constructor":1}`,
  'the same name twice': `{"a":1,"b":"${filled('x', 2 * PIECE)}","a":2}`,
  nesting: nested(40, `"${filled('x', 2 * PIECE)}"`),
  'rows within data': `{"data":{"affected_items":${listOf('{"id":"001"}')},"total":1},"message":"ok","error":0}`,
}

for (const [what, text] of Object.entries(texts)) {
  t.test(`${what}: as JSON.parse, without a long turn`, async (t) => {
    const bytes = Buffer.from(text)
    t.ok(JSON.stringify(await parseInTurns(bytes)) === JSON.stringify(JSON.parse(text)), 'the same value')
    const longest = await measureBestRun(() => parseInTurns(bytes), MAX_TURN_MS)
    t.ok(longest < MAX_TURN_MS, `${longest.toFixed(1)} ms`)
  })
}

t.test('values at the border of a piece', async (t) => {
  for (let before = PIECE - 12; before < PIECE + 4; before += 1) {
    const long = 'x'.repeat(before)
    for (const text of [
      `["${long}",1,[2],{"b":3}]`,
      `["${long}é😀\\u00e9\\\\\\"é",{"a":"${long}"}]`,
      `{"${long}":[1],"b":"${long}\\n"}`,
    ]) {
      const padded = `${text.slice(0, -1)}${' '.repeat(PIECE)}${text.slice(-1)}`
      for (const each of [text, padded])
        if (JSON.stringify(await parseInTurns(Buffer.from(each))) !== JSON.stringify(JSON.parse(each)))
          t.fail(`${before}`)
    }
  }
})
