import t from 'tap'
import { agents, snapshotReplica } from './collection-node.ts'

t.test('a snapshot is listed with its rows, the queries that it answered and the calls that built it', async (t) => {
  const edge = snapshotReplica(agents(1500))
  t.strictSame(edge.cache.snapshots(), [])
  await edge.warm()
  const [built] = edge.cache.snapshots()
  t.match(built, { url: '/agents#*', group: 'agents', rows: 1500, queries: 0, calls: 2 })
  t.ok((built?.bytes ?? 0) > 1500 * 50)
  for (const sort of ['name', '-name', 'id']) await edge.get({ sort, limit: '3' })
  await edge.get({ sort: 'name', limit: '3' })
  t.match(edge.cache.snapshots(), [{ queries: 3, calls: 2 }], 'a stored response is no further query')

  // The next snapshot takes the place of this one.
  edge.clock.advance(1500)
  await edge.get({ sort: 'name', limit: '4' })
  await edge.settleBuild()
  t.equal(edge.cache.snapshots().length, 1)
  t.match(edge.cache.snapshots(), [{ rows: 1500, calls: 4 }])
})
