import t from 'tap'
import { edgeRequest } from '../../../support/edge-requests.ts'
import { agents, snapshotReplica } from './collection-node.ts'

const rename = edgeRequest('DELETE /agents/:agent_id', { params: { agent_id: '001' } })

t.test('no query is answered from a snapshot of before a write', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.warm()
  t.match((await edge.get({ sort: 'name' })).status, { detail: 'snapshot' })
  edge.node.rows = edge.node.rows.slice(1)
  await edge.write(rename)
  for (const query of [{ sort: 'name' }, { sort: '-name' }, { q: 'id<3' }]) {
    t.strictSame((await edge.get(query)).body, edge.direct(query), JSON.stringify(query))
  }
})

t.test('a snapshot that is built while a write happens is never used', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.get({ limit: '5' })
  let writing: Promise<unknown> | undefined
  edge.node.onCall = ({ limit }) => {
    if (limit !== '1000' || writing !== undefined) return
    // The node has read its rows, and changes them before its response arrives.
    const before = edge.node.rows
    edge.node.rows = before.slice(1)
    writing = Promise.resolve(edge.write(rename))
    edge.node.rows = before
    void writing.then(() => {
      edge.node.rows = before.slice(1)
    })
  }
  await edge.get({ limit: '6' })
  await writing
  await edge.settleBuild()
  edge.node.onCall = () => {}
  for (const query of [{ limit: '6' }, { sort: '-name' }]) {
    t.strictSame((await edge.get(query)).body, edge.direct(query), JSON.stringify(query))
  }
})

t.test('a purge of the group drops the snapshot and what was computed from it', async (t) => {
  const edge = snapshotReplica(agents(100))
  await edge.warm()
  await edge.get({ sort: 'name' })
  await edge.ownStore.purge({ group: 'agents' })
  const { calls } = edge.nodes
  await edge.get({ sort: 'name' })
  t.equal(edge.nodes.calls, calls + 1)
})
