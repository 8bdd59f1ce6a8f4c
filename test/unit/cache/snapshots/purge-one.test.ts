import t from 'tap'
import { cacheOperations } from '../../../../src/cache/operations.ts'
import { edgeRequest } from '../../../support/edge-requests.ts'
import { agents, explainPorts, snapshotReplica } from './collection-node.ts'

const QUERY = { sort: 'name' }
const lifetimes = { ttl: 5000, staleWhileRevalidate: 5000, staleIfError: 60_000 }
const lifetimesOf = () => lifetimes

for (const soft of [false, true]) {
  t.test(
    `a response that is purged ${soft ? 'softly ' : ''}by its key is not computed again from old rows`,
    async (t) => {
      const edge = snapshotReplica(agents(100), { lifetimesOf })
      await edge.warm()
      t.match((await edge.get(QUERY)).status, { detail: 'snapshot' })
      // A change that bypasses the edge.
      edge.node.rows = edge.node.rows.slice(1)
      const index = edge.ownStore
      const operations = cacheOperations({
        index,
        defaultDuration: () => 1000,
        lifetimesOf,
        enabled: true,
        sharedThroughRedis: false,
        explained: explainPorts(edge),
      })
      const key = (await index.list()).find(({ url }) => url.includes('sort=name'))?.key ?? ''
      await operations.cacheClear(edgeRequest('DELETE /cache', { query: { key, ...(soft && { soft: 'true' }) } }))
      if (soft) {
        // Each of them is served once more, while it is refreshed: the snapshot first, then what is computed from it.
        for (let round = 0; round < 2; round += 1) {
          await edge.get(QUERY)
          await edge.settleBuild()
          edge.clock.advance(1100)
        }
      }
      t.strictSame((await edge.get(QUERY)).body, edge.direct(QUERY))
    },
  )
}
