/** Whatever the bytes and the chunks, an edge reads the requests that a plain `node:http` server reads, in the same order. */
import t from 'tap'
import { compareStreams, FAULTS } from './compare.ts'

const STREAMS = 1000
/** A fault is found within these. */
const PLANTED_STREAMS = 200

t.test('random streams have the responses of node:http with the same rules', { timeout: 300_000 }, async (t) => {
  const seed = Math.trunc(Math.random() * 2 ** 31)
  const { responses, rejections, differences } = await compareStreams({ streams: STREAMS, seed })
  t.ok(responses > 2 * STREAMS, `${responses} responses`)
  t.ok(rejections > STREAMS / 5, `${rejections} rejections`)
  const shown = differences.map(({ stream, edge, oracle }) => ({ seed: stream.seed, edge, oracle }))
  t.strictSame(shown, [], `seed ${seed}; npm run check:framing -- --streams 1 --seed … shows the bytes`)
})

for (const planted of FAULTS) {
  t.test(`a planted fault is found: ${planted}`, { timeout: 300_000 }, async (t) => {
    const { differences } = await compareStreams({ streams: PLANTED_STREAMS, seed: 1, planted })
    t.ok(differences.length > 0, `in ${differences.length} of ${PLANTED_STREAMS} streams`)
  })
}
