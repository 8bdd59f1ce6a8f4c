import t from 'tap'
import { agentIdsOf } from '../../../src/collections/agent-ids.ts'
import { rowsOf } from '../../../src/collections/rows.ts'

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
  const found = await rowsOf(Buffer.from(`{"error":0,"data":{"items":[${rows.join()}],"totalItems":${rows.length}}}`))
  if (!found.ok) throw new Error(found.reason)
  t.strictSame(agentIdsOf(found.rows), ['001', '01', '011', '003', '000'])
})
