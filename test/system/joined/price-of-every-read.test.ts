/** What one read of a client costs at 3,000 agents: at most two calls for each node and ten more. */
import t from 'tap'
import { priceOfRead } from '../../../src/core/request.ts'
import { pricesOfReads, ways } from './read-prices.ts'

const CLUSTER = { agents: 3000, workers: 2 }
const PRICE = 2 * (CLUSTER.workers + 1) + 10

t.equal(PRICE, priceOfRead(CLUSTER.workers + 1), 'as docs/cluster.md states it')

for (const way of ways) {
  t.test(`${way.name}: no read of a client costs more`, async (t) => {
    let reads = 0
    for await (const { path, target, calls, ownerCalls, headers, text } of pricesOfReads(t, CLUSTER, way)) {
      reads += 1
      t.ok(calls.length + ownerCalls <= PRICE, `${target}: ${calls.length} and ${ownerCalls} calls of ${PRICE}`, {
        calls,
      })
      if (!path.startsWith('/experimental/')) continue
      const { error, data } = JSON.parse(text)
      // The newer layout has no CIS-CAT.
      if (way.layout === 'newer' && error !== 0) continue
      t.match(data.covered_agents, { covered: Number, all: Number }, target)
      t.ok(data.covered_agents.covered < data.covered_agents.all)
      t.ok(headers.get('cluster-status')?.includes(`*;agents=${data.covered_agents.covered};all-agents=`))
      t.notMatch(headers.get('cache-status'), /stored/)
    }
    t.ok(reads > 80, `${reads} reads`)
  })
}
