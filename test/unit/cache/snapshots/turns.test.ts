import t from 'tap'
import { answerFrom } from '../../../../src/cache/snapshots/answer.ts'
import { readCollection } from '../../../../src/cache/snapshots/build.ts'
import type { Handler } from '../../../../src/core/request.ts'
import { parseCollectionRequest } from '../../../../src/query/request.ts'
import { sources } from '../../../../src/query/sources.ts'
import { edgeRequest, success } from '../../../support/edge-requests.ts'
import { measureTurns } from '../../../support/event-loop.ts'
import { agents } from './collection-node.ts'

const ROWS = 100_000
/** CPU milliseconds. A sort of all rows in one turn takes several hundred. */
const MAX_TURN_MS = 50

t.test('100,000 rows are read, filtered and sorted in turns', async (t) => {
  const rows = agents(ROWS)
  const node: Handler = ({ query }) => {
    const offset = Number(query.offset ?? 0)
    return success({ items: rows.slice(offset, offset + 1000), totalItems: ROWS })
  }
  const limits = { maxRows: ROWS, maxBytes: 64 << 20 }
  const read = await measureTurns(() => readCollection(node, edgeRequest('GET /agents'), limits, () => {}))
  t.equal(read.value.rows.length, ROWS)
  t.ok(read.longest < MAX_TURN_MS, `reading: ${read.longest} ms`)
  for (const query of [
    { sort: '-name' },
    { q: 'name~99;status=active', sort: 'name' },
    { search: 'agent-77' },
    { offset: '50000', sort: 'name', limit: '1000' },
  ]) {
    const derivation = { source: sources.agents, collection: parseCollectionRequest(query, new Date()) }
    const { longest, value } = await measureTurns(() => answerFrom(read.value.rows, derivation, 100))
    t.ok(value.length > 1000)
    t.ok(longest < MAX_TURN_MS, `${JSON.stringify(query)}: ${longest} ms`)
    t.comment(`${JSON.stringify(query)}: longest turn ${longest.toFixed(1)} ms`)
  }
  t.comment(`reading: longest turn ${read.longest.toFixed(1)} ms`)
})
