import t from 'tap'
import { readCollection } from '../../../../src/cache/snapshots/read-collection.ts'
import { edgeRequest, success } from '../../../support/edge-requests.ts'

const ROWS = 6000
const limits = { maxRows: ROWS, maxBytes: 1 << 20, rowsPerCall: ROWS }

t.test('all rows of a joined collection are stored in parts, in which each row is one line', async (t) => {
  const items = Array.from({ length: ROWS }, (_, b) => ({ b, text: 'two\nlines' }))
  const failed = [{ node: 'worker-1', error: { code: 922, message: 'Timeout' } }]
  const response = success({ items, totalItems: ROWS, failed_nodes: failed })
  const request = edgeRequest('GET /agents', { extent: 'allRows' })
  const { parts: bytes, bytes: sum, others, totalItems } = await readCollection(() => response, request, limits)
  const parts = bytes.map(String)
  t.ok(parts.length > 2 && parts.every((part) => part.length < 70_000), `${parts.length} parts`)
  t.equal(parts[0]?.split('\n')[2], '{"b":2,"text":"two\\nlines"},')
  t.equal(parts.flatMap((part) => part.split('\n')).length, ROWS)
  t.strictSame(
    parts.flatMap((part) => JSON.parse(part)),
    items,
  )
  t.equal(sum, parts.join('').length)
  t.strictSame({ others, totalItems }, { others: { failed_nodes: failed }, totalItems: ROWS })
})
