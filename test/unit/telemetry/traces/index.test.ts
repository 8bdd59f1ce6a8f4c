import { createRequire } from 'node:module'
import t from 'tap'
import { simulated } from '../../../support/simulated.ts'
import { tracedEdge } from './traced-edge.ts'

const { cache } = createRequire(import.meta.url)
const loaded = () => Object.keys(cache).filter((path) => /@opentelemetry.(?:sdk-trace|otlp-transformer)/.test(path))

t.test('without a collector the SDK is not loaded and nodes receive no traceparent', async (t) => {
  const { simulator, edge } = await simulated(t, { workers: 0, agents: 2 })
  const headers = {
    authorization: edge.authorization('admin'),
    traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`,
  }
  const response = await fetch(`${edge.url}/agents`, { headers })
  t.equal(response.status, 200)
  await response.arrayBuffer()
  t.strictSame(loaded(), [])
  t.ok(simulator.seen.length > 0)
  t.notOk(simulator.seen.some((seen) => 'traceparent' in seen.headers || 'tracestate' in seen.headers))
  t.notOk(edge.logged.some((line) => line.includes('traceId')))
  const metrics = await fetch(`${edge.operationsUrl}/metrics`, { headers })
  t.notMatch(await metrics.text(), /edge_trace_/)
})

t.test('with a collector the SDK is loaded', async (t) => {
  await tracedEdge(t, { cluster: { workers: 0, agents: 1 } })
  t.ok(loaded().length > 10, 'the test above could fail')
})
