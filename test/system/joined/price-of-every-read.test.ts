/** What one read of a client costs at 3,000 agents: at most two calls for each node and ten more. */
import t from 'tap'
import { priceOfRead } from '../../../src/core/request.ts'
import { pricesOfReads, ways } from './read-prices.ts'

const CLUSTER = { agents: 3000, workers: 2 }
const PRICE = 2 * (CLUSTER.workers + 1) + 10

t.equal(PRICE, priceOfRead(CLUSTER.workers + 1), 'as docs/cluster.md states it')

for (const way of ways) {
  t.test(`${way.name}: no read of a client costs more`, async (t) => {
    let [reads, cut] = [0, 0]
    for await (const { path, target, calls, ownerCalls, headers, text } of pricesOfReads(t, CLUSTER, way)) {
      reads += 1
      // An error of the edge would cost no call.
      t.notMatch(text, /"error":9\d\d,/, target)
      t.ok(calls.length + ownerCalls <= PRICE, `${target}: ${calls.length} and ${ownerCalls} calls of ${PRICE}`, {
        calls,
      })
      if (!path.startsWith('/experimental/')) continue
      const { data } = JSON.parse(text)
      // A node of the newer layout takes lists of agents, so that few rows of each of 3,000 agents are within the price.
      if (way.layout === 'newer' && data.covered_agents === undefined) continue
      cut += 1
      t.match(data.covered_agents, { covered: Number, all: Number }, target)
      t.ok(data.covered_agents.covered < data.covered_agents.all)
      t.ok(headers.get('cluster-status')?.includes(`*;agents=${data.covered_agents.covered};all-agents=`))
      t.notMatch(headers.get('cache-status'), /stored/)
    }
    t.ok(cut > 0, `${cut} responses that cover some agents`)
    t.ok(reads > 80, `${reads} reads`)
  })
}
