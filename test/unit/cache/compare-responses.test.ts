import t from 'tap'
import { compareResponses } from '../../../src/cache/compare-responses.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import type { Lookup, TagEpochs } from '../../../src/core/stored-response.ts'
import { edgeRequest, jsonResponse, replica } from '../../support/edge-requests.ts'

/** Longer responses are not compared. */
const LONG_BYTES = 256 * 1024

const epochs: TagEpochs = { generation: 'g', epochs: ['1'], fenced: false }
const target = replica().targetOf(edgeRequest('GET /agents'))

function compare(stored: unknown, current: EdgeResponse, now: TagEpochs = epochs) {
  const lookup: Lookup = { kind: 'miss', epochs: now, changed: false }
  const store = { peek: async () => lookup }
  return compareResponses(store, { target, epochs, stored: Buffer.from(JSON.stringify(stored)), current })
}

const rows = (items: readonly unknown[], totalItems: number = items.length) => ({
  error: 0,
  data: { items, totalItems },
})
const v4Rows = (items: readonly unknown[], total: number = items.length) => ({
  data: { affected_items: items, total_affected_items: total },
  error: 0,
})
const [a, b] = [
  { id: 1, name: 'a' },
  { id: 2, name: 'b' },
]

t.test('the comparison names the kind of a difference', async (t) => {
  const cases: readonly (readonly [expected: string, stored: unknown, current: unknown])[] = [
    ['same', rows([a, b]), rows([{ name: 'a', id: 1 }, b])],
    ['total', rows([a]), rows([a], 2)],
    ['order', rows([a, b]), rows([b, { name: 'a', id: 1 }])],
    ['content', rows([a, b]), rows([a, a])],
    ['order', v4Rows([a, b]), v4Rows([b, a])],
    ['total', v4Rows([a]), v4Rows([a], 2)],
    ['content', { error: 0, data: { status: 'Active' } }, { error: 0, data: { status: 'Disconnected' } }],
    ['error', rows([a]), { error: 1701, message: 'Agent does not exist' }],
  ]
  for (const [expected, stored, current] of cases) {
    const result = await compare(stored, jsonResponse(current))
    t.equal(result.outcome === 'different' ? result.difference : result.outcome, expected)
  }
})

t.test('a comparison is inconclusive after a write, if a node failed, and of long responses that differ', async (t) => {
  const changed = await compare(rows([a]), jsonResponse(rows([a])), { ...epochs, epochs: ['2'] })
  t.equal(changed.outcome, 'inconclusive')
  t.equal((await compare(rows([a]), jsonResponse({ error: 3021, message: 'Timeout' }))).outcome, 'inconclusive')
  const long = rows(['x'.repeat(LONG_BYTES)])
  t.equal((await compare(long, jsonResponse(long))).outcome, 'same')
  t.equal((await compare(long, jsonResponse(rows(['y'.repeat(LONG_BYTES)])))).outcome, 'inconclusive')
})
