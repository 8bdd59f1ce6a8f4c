import t from 'tap'
import { findRows } from '../../../src/join/bytes/envelope-rows.ts'
import { type ContentByNode, checkPageOwners, movedAwayFrom } from '../../../src/join/moved-agents.ts'
import type { AgentOwnerMap } from '../../../src/join/owner-lookup.ts'
import { edgeRequest } from '../../support/edge-requests.ts'

/** The owner table after a lookup that came between the checks of two pages. */
const table: AgentOwnerMap = new Map([
  ['001', { kind: 'node', node: 'w1' }],
  ['002', { kind: 'node', node: 'w2' }],
])
const page = (...ids: string[]) => ({ rows: [], ids, arrivedIds: [] })

t.test('an agent on the pages of two nodes is left to its owner, whatever the table said at each check', async (t) => {
  const contents: ContentByNode = new Map([
    ['w1', page('001', '002')],
    ['w2', page('002')],
  ])
  t.strictSame(movedAwayFrom('w1', contents, table), ['002'])
  t.strictSame(movedAwayFrom('w2', contents, table), [])
})

t.test('an agent whose owner does not have it yet stays where it is', async (t) => {
  const contents: ContentByNode = new Map([
    ['w1', page('001', '002')],
    ['w2', page()],
  ])
  t.strictSame(movedAwayFrom('w1', contents, table), [])
})

t.test('all agents on a page are found, wherever their ids are in the rows', async (t) => {
  const rows = [
    '{"name":"a","agent_id":"001"}',
    '{"name":"b","agent_id":"001"}',
    '{"agent_id":"01"}',
    '{"name":"c","agent_id":"011"}',
    '{"agent_id":"003","name":"\\"agent_id\\":\\"001"}',
    '{"agent_id":"003","name":"d"}',
    '{"name":"no agent"}',
    '{"name":"e","agent_id":"000"}',
    '{"name":"f","agent_id":"001"}',
  ]
  const found = findRows(Buffer.from(`{"error":0,"data":{"items":[${rows.join()}],"totalItems":${rows.length}}}`))
  if (!found.ok) throw new Error(found.reason)
  const owners = { verifiedOwners: () => Promise.reject(new Error('not needed')) }
  const request = edgeRequest('GET /experimental/syscollector/packages')
  const checked = await checkPageOwners(found.rows, 'w1', { table: new Map(), owners, request })
  t.strictSame(checked, { departed: [], ids: ['001', '01', '011', '003'], arrivedIds: [] })
})
