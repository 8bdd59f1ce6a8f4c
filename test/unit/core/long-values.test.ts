import { createHash } from 'node:crypto'
import t from 'tap'
import { concatInTurns, digestInTurns, jsonInTurns } from '../../../src/core/long-values.ts'
import { measureBestRun } from '../../support/event-loop.ts'

/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20
const SIZE = 10 * 1024 * 1024

const filled = (unit: string) => unit.repeat(SIZE / Buffer.byteLength(unit))

t.test('JSON is printed as by JSON.stringify', async (t) => {
  const long = 'x'.repeat(32 * 1024 - 1)
  const values: readonly unknown[] = [
    ...[null, true, -1.5, '', 'a"\\\n\u2028\ud800', [], {}, [[], {}, [1, [2]]]],
    { a: 1, b: undefined, 'c"': { d: [null, undefined, 'e'] } },
    Object.assign(Object.create(null), { a: { [`${long}x"`]: 1 } }),
    ...['😀', 'é', '"', '\ud800', '\udc00', '\\'].map((middle) => ({ value: `${long}${middle}${long}${middle}x` })),
    Array.from({ length: 20_000 }, (_, at) => ({ id: at })),
  ]
  for (const [at, value] of values.entries()) {
    t.ok((await jsonInTurns(value)).toString() === JSON.stringify(value), `value ${at}`)
  }
})

t.test('bytes are joined and hashed', async (t) => {
  const bytes = Buffer.from(filled('abcdefghi'))
  for (const cuts of [[], [0], [1, 300_000], [256 * 1024, 256 * 1024]]) {
    const ends = [0, ...cuts, bytes.length]
    const chunks = ends.slice(1).map((end, at) => bytes.subarray(ends[at], end))
    t.ok((await concatInTurns(chunks)).equals(bytes), `${chunks.length} chunks`)
  }
  t.equal((await concatInTurns([])).length, 0)
  t.equal(await digestInTurns(bytes, 'hex'), createHash('sha256').update(bytes).digest('hex'))
})

t.test('long values do not block the event loop', async (t) => {
  const list = Array.from({ length: 90_000 }, () => 'x'.repeat(100))
  const works: Readonly<Record<string, () => Promise<unknown>>> = {
    'a text of quotes': () => jsonInTurns(quotes),
    'a list': () => jsonInTurns(list),
    digest: async () => digestInTurns(bytes, 'hex'),
    concatenation: () => concatInTurns([bytes, bytes]),
  }
  const quotes = filled('"')
  const bytes = Buffer.from(quotes)
  for (const [what, work] of Object.entries(works)) {
    const longest = await measureBestRun(work, MAX_TURN_MS)
    t.ok(longest < MAX_TURN_MS, `${what}: ${longest.toFixed(1)} ms`)
  }
})
