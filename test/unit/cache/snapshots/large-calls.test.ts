/** Where a call may return more rows, a snapshot takes fewer calls, and clients wait for one that takes a single call. */
import t from 'tap'
import { success } from '../../../support/edge-requests.ts'
import { agents, snapshotReplica } from './collection-node.ts'

t.test('4,000 rows are read by one call of 5,000', async (t) => {
  const edge = snapshotReplica(agents(4000), {
    nodeReads: () => ({ rowsPerCall: 5000, joinsAgents: true, convertsRows: true }),
  })
  const limits: (string | undefined)[] = []
  const { rows } = edge.node
  edge.nodes.respond = ({ query: { limit, offset = '0' } }) => {
    limits.push(limit)
    const items = rows.slice(Number(offset), Number(offset) + Number(limit))
    return success({ items, totalItems: rows.length })
  }
  await edge.get({ limit: '2' })
  const { body } = await edge.get({ limit: '2', offset: '1' })
  t.same(limits, ['2', '5000'])
  t.same(body, { error: 0, data: { items: rows.slice(1, 3), totalItems: 4000 } })
  await edge.settleBuild()
  await edge.get({ sort: '-name', limit: '3' })
  t.equal(limits.length, 2, 'and later queries take no call')
})
