import t from 'tap'
import { answerFrom } from '../../../../src/cache/snapshots/answer.ts'
import { parseSnapshot } from '../../../../src/cache/snapshots/build.ts'
import { parseCollectionRequest } from '../../../../src/query/request.ts'
import { sources } from '../../../../src/query/sources.ts'
import type { Row } from '../../../../src/query/value.ts'
import { measureTurns } from '../../../support/event-loop.ts'
import { agents } from './collection-node.ts'

const ROWS = 100_000
/** CPU milliseconds. A sort of all rows in one turn takes several hundred. */
const MAX_TURN_MS = 50

t.test('100,000 rows are parsed, filtered and sorted in turns', async (t) => {
  const lines = agents(ROWS).map((row) => JSON.stringify(row))
  const body = Buffer.from(`{"error":0,"data":{"totalItems":${ROWS},"items":[\n${lines.join(',\n')}\n]}}`)
  const parsed = await measureTurns(() => parseSnapshot<Row>(body, (row) => row))
  t.equal(parsed.value.length, ROWS)
  t.ok(parsed.longest < MAX_TURN_MS, `parsing: ${parsed.longest} ms`)
  for (const query of [
    { sort: '-name' },
    { q: 'name~99;status=active', sort: 'name' },
    { offset: '50000', sort: 'name' },
  ]) {
    const derivation = { source: sources.agents, collection: parseCollectionRequest(query, new Date()) }
    const { longest, value } = await measureTurns(() => answerFrom(parsed.value, derivation))
    t.ok(value.length > 1000)
    t.ok(longest < MAX_TURN_MS, `${JSON.stringify(query)}: ${longest} ms`)
    t.comment(`${JSON.stringify(query)}: longest turn ${longest.toFixed(1)} ms`)
  }
  t.comment(`parsing: longest turn ${parsed.longest.toFixed(1)} ms`)
})
