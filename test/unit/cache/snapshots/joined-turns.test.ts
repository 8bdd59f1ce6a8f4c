import t from 'tap'
import { readCollection } from '../../../../src/cache/snapshots/read-collection.ts'
import type { MergeOptions } from '../../../../src/collections/merge.ts'
import { rowsOf } from '../../../../src/collections/rows.ts'
import { sources } from '../../../../src/collections/sources.ts'
import type { EnvelopeResponse } from '../../../../src/core/response.ts'
import type { NodeRows } from '../../../../src/join/node-part.ts'
import { NodeReport } from '../../../../src/join/node-report.ts'
import { mergeCollection } from '../../../../src/join/rules/collection.ts'
import { edgeRequest } from '../../../support/edge-requests.ts'
import { measureRuns } from '../../../support/event-loop.ts'

const AGENTS = 500
const ROWS_PER_AGENT = 200
const ROWS = AGENTS * ROWS_PER_AGENT
/** CPU milliseconds. The work takes several hundred. */
const MAX_TURN_MS = 10
const merging: MergeOptions = { sort: undefined, source: sources.packages, offset: 0, limit: ROWS }

/** The packages of one agent, as its owner returns them. */
async function rowsOfAgent(agent: number): Promise<NodeRows> {
  const items = Array.from({ length: ROWS_PER_AGENT }, (_, at) => ({
    scan: { id: (agent * 7919) % AGENTS, time: '2026/11/20 11:47:52' },
    name: `package-${at}`,
    version: `${at}.${agent}`,
    description: 'a library that other packages need',
  }))
  const found = await rowsOf(Buffer.from(JSON.stringify({ error: 0, data: { items, totalItems: ROWS_PER_AGENT } })))
  if (!found.ok) throw new Error(found.reason)
  const inject = { last: { name: 'agent_id', value: String(agent) } }
  const { rows } = found
  return { node: 'm', total: ROWS_PER_AGENT, rows, isSorted: true, inject }
}

t.test('100,000 rows of 500 agents are joined and read in turns of at most 10 ms', async (t) => {
  const agents = await Promise.all(Array.from({ length: AGENTS }, (_, agent) => rowsOfAgent(agent)))
  const limits = { maxRows: ROWS, maxBytes: 64 << 20, rowsPerCall: ROWS }
  const request = edgeRequest('GET /agents', { extent: 'allRows' })
  let whole: EnvelopeResponse | undefined
  const join = async () => {
    whole = await mergeCollection(agents, merging, new NodeReport(['m'], performance.now()))
  }
  const joining = await measureRuns(join, MAX_TURN_MS)
  t.ok(Math.min(...joining) < MAX_TURN_MS, `joining: ${joining.map((ms) => ms.toFixed(1))} ms`)
  const read = async () => {
    const { totalItems } = await readCollection(() => whole as EnvelopeResponse, request, limits)
    t.equal(totalItems, ROWS)
  }
  const reading = await measureRuns(read, MAX_TURN_MS)
  t.ok(Math.min(...reading) < MAX_TURN_MS, `reading: ${reading.map((ms) => ms.toFixed(1))} ms`)
})
