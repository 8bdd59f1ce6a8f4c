import t from 'tap'
import { snapshotReplica } from './collection-node.ts'

const TTL_MS = 60_000

/** Returns the time this number of seconds ago, as the manager writes it. */
function secondsAgo(seconds: number): string {
  return new Date(Date.now() - seconds * 1000).toISOString().slice(0, 19).replace('T', ' ')
}

t.test('a time frame counts from the time of the rows, not from that of the request', async (t) => {
  const agent = { name: 'web', status: 'Active', dateAdd: '2026-01-01 00:00:00' }
  const rows = [
    { ...agent, id: '001', lastKeepAlive: secondsAgo(45) },
    { ...agent, id: '002', lastKeepAlive: secondsAgo(600) },
  ]
  const lifetimesOf = () => ({ ttl: TTL_MS, staleWhileRevalidate: TTL_MS, staleIfError: TTL_MS })
  const edge = snapshotReplica(rows, { lifetimesOf })
  await edge.warm()
  // The clock of the cache moves: the rows are of 40 s ago. Then agent 001 had reported 5 s before.
  edge.clock.advance(40_000)
  await edge.settleBuild()
  const queries = [{ older_than: '20s' }, { q: 'lastKeepAlive>20s' }]
  for (const query of queries) {
    const { body, status } = await edge.get(query)
    t.match(status, { hit: true, detail: 'snapshot' })
    t.match(body.data, { totalItems: 1, items: [{ id: '002' }] }, JSON.stringify(query))
  }
})
