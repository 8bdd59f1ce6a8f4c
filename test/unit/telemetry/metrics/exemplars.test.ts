import t, { type Test } from 'tap'
import { tracedEdge } from '../traces/traced-edge.ts'

async function scrape(t: Test, traces: object) {
  const { edge, ask } = await tracedEdge(t, { cluster: { workers: 0, agents: 3 }, traces })
  const { traceId, status } = await ask('/agents/001')
  t.equal(status, 200)
  const headers = { authorization: edge.authorization('admin') }
  const response = await fetch(`${edge.operationsUrl}/metrics`, { headers })
  return { traceId, type: response.headers.get('content-type') ?? '', text: await response.text() }
}

t.test('with traces.exemplars, the duration of a sampled request names its trace', async (t) => {
  const { traceId, type, text } = await scrape(t, { exemplars: true })
  t.match(type, 'application/openmetrics-text')
  const bucket = text.split('\n').find((line) => line.includes(traceId))
  t.match(
    bucket,
    /^http_server_request_duration_seconds_bucket\{.*http_route="\/agents\/:agent_id".*\} 1 # \{trace_id="/,
  )
  t.match(text, /# EOF\n$/)
})

t.test('without the setting, /metrics has no exemplars and the format of Prometheus', async (t) => {
  const { traceId, type, text } = await scrape(t, {})
  t.match(type, 'text/plain')
  t.notMatch(text, traceId)
  t.notMatch(text, '# {')
})
