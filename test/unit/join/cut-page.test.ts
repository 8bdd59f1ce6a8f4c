import t from 'tap'
import { cutPages } from '../../../src/join/agent-owners.ts'
import { bodyOf, edgeRequest, jsonResponse, success } from '../../support/edge-requests.ts'

/** Larger than a number of JavaScript can be: rows are cut as they were sent. */
const INODE = '9007199254740993123'

function pageOf(rows: number): string {
  const items = Array.from({ length: rows }, (_, at) => `{"file":"/a],[${at}","inode":${INODE}}`)
  return `{"error":0,"data":{"items":[${items.join()}],"totalItems":2593}}`
}

async function cut(limit: string | undefined, body: string): Promise<string> {
  const request = edgeRequest('GET /syscheck/:agent_id', {
    params: { agent_id: '000' },
    query: { ...(limit !== undefined && { limit }) },
  })
  const response = await cutPages(() => ({ ...success(''), body: Buffer.from(body) }))(request)
  if (response.kind !== 'envelope') throw new Error('no JSON')
  return response.body.toString()
}

t.test('a page has at most as many rows as the request wants, with the bytes of the node', async (t) => {
  for (const limit of [21, 33, 128, 999]) {
    const rows = Math.ceil(limit / 20) * 20
    t.equal(await cut(`${limit}`, pageOf(rows)), pageOf(limit), `limit ${limit}`)
  }
  for (const [limit, rows] of [
    ['128', 128],
    ['128', 3],
    ['128', 0],
    ['20', 20],
    ['7', 7],
    ['140', 140],
    [undefined, 500],
  ] as const) {
    t.equal(await cut(limit, pageOf(rows)), pageOf(rows), `${rows} rows are not cut`)
  }
})

t.test('an error passes', async (t) => {
  const error = jsonResponse({ error: 1701, message: 'Agent does not exist' })
  const request = edgeRequest('GET /syscheck/:agent_id', { params: { agent_id: '999' }, query: { limit: '128' } })
  t.strictSame(bodyOf(await cutPages(() => error)(request)), { error: 1701, message: 'Agent does not exist' })
})
