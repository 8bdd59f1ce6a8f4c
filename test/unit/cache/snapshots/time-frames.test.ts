import t from 'tap'
import { agents, snapshotReplica } from './collection-node.ts'

t.test('a time frame is answered by a node, whose clock and time zone count', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.warm()
  for (const query of [{ older_than: '20s' }, { q: 'lastKeepAlive>20s' }, { q: 'dateAdd<1d;name~1' }]) {
    const { calls } = edge.nodes
    const { body, status } = await edge.get(query)
    t.equal(edge.nodes.calls, calls + 1, JSON.stringify(query))
    t.not(status?.detail, 'snapshot')
    t.strictSame(body, edge.direct(query))
  }
})
