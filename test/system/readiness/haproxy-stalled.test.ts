import t from 'tap'
import { startEdgeProcess } from '../../faults/suite/edge-process.ts'
import { startHaproxy } from '../../faults/suite/haproxy.ts'
import { startNodeUpstream } from '../../faults/suite/upstream.ts'

const headers = { authorization: `Basic ${Buffer.from('admin:admin-pw').toString('base64')}` }
/** Two checks that get no answer, each with an interval and a timeout of a second, and room for a busy machine. */
const OUT_MS = 10_000

t.test('a replica that accepts connections and does not answer is taken out, and comes back', async (t) => {
  const upstream = await startNodeUpstream()
  t.teardown(() => upstream.close())
  const edges = [await startEdgeProcess({ nodes: upstream.nodes }), await startEdgeProcess({ nodes: upstream.nodes })]
  for (const edge of edges) t.teardown(() => edge.close())
  const balancer = await startHaproxy(edges)
  t.teardown(() => balancer.close())
  const begin = performance.now()
  edges[0]?.pause()
  await balancer.replicasDown(1)
  const ms = performance.now() - begin
  t.ok(ms < OUT_MS, `taken out after ${Math.round(ms)} ms`)
  for (let at = 0; at < 20; at += 1) {
    const response = await fetch(`${balancer.url}/agents/${String(at).padStart(3, '0')}`, { headers })
    t.equal(response.status, 200)
    await response.arrayBuffer()
  }
  edges[0]?.resume()
  await balancer.replicasUp(2)
})
