import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { RunningEdge } from '../../../support/edge.ts'
import { samplesOf, sumOf } from '../../../support/scrape.ts'
import { simulated } from '../../../support/simulated.ts'
import { until } from './collector.ts'
import { tracedEdge } from './world.ts'

async function spans(edge: RunningEdge) {
  const reply = await fetch(`${edge.operationsUrl}/metrics`, {
    headers: { authorization: edge.authorization('admin') },
  })
  const samples = samplesOf(await reply.text())
  return {
    sent: sumOf(samples, 'edge_trace_spans_sent_total'),
    dropped: sumOf(samples, 'edge_trace_spans_dropped_total'),
  }
}

const said = (edge: RunningEdge, text: string) => edge.logged.filter((line) => line.includes(text))

t.test('a collector that refuses, sends elsewhere or talks nonsense costs its spans, and one line', async (t) => {
  const { collector, edge, ask } = await tracedEdge(t, { cluster: { workers: 0, agents: 2 } })
  let elsewhere = 0
  const other = http.createServer((_, response) => {
    elsewhere += 1
    response.end()
  })
  await new Promise<void>((done) => void other.listen(0, '127.0.0.1', done))
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }

  collector.answer((_, response) => response.writeHead(403).end('who are you, secret-of-the-collector'))
  t.equal((await ask('/agents')).status, 200)
  await until(() => said(edge, 'spans are dropped').length > 0)
  collector.answer((_, response) => response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end())
  t.equal((await ask('/agents')).status, 200)
  const before = collector.requests.length
  await until(() => collector.requests.length > before)
  await sleep(100)
  t.equal(elsewhere, 0, 'a redirect is not followed')
  t.match(said(edge, 'spans are dropped'), [/"why":"status 403"/], 'one line, without the words of the collector')
  const lost = await spans(edge)
  t.ok(lost.dropped >= 10 && lost.sent === 0, JSON.stringify(lost))

  collector.answer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
  t.equal((await ask('/agents')).status, 200)
  await until(() => said(edge, 'takes spans again').length > 0)
  t.match(said(edge, 'takes spans again'), [new RegExp(`"dropped":${lost.dropped}\\b`)], 'and one when it is over')
  const after = await spans(edge)
  t.equal(after.dropped, lost.dropped)
  t.ok(after.sent >= 5, 'what was taken counts as sent, whatever it answered')
})

t.test('a collector that never answers holds up nobody, and not the end', async (t) => {
  const { collector, edge, ask } = await tracedEdge(t, { cluster: { workers: 0, agents: 2 } })
  collector.answer(() => undefined)
  await ask('/agents')
  await until(() => collector.requests.length > 0)
  t.equal((await ask('/agents')).status, 200, 'while a batch hangs')
  const began = performance.now()
  t.ok(await edge.edge.drain(0))
  const seconds = (performance.now() - began) / 1000
  t.ok(seconds < 6, `ended after ${seconds.toFixed(1)} s`)
  t.equal(said(edge, 'spans are dropped').length, 1)
})

t.test('no collector at all', async (t) => {
  const { edge } = await simulated(
    t,
    { workers: 0, agents: 2 },
    // Port 9 is `discard`: nobody listens there.
    { settings: { traces: { endpoint: 'http://127.0.0.1:9', share: 1, perSecond: 1e4 } } },
  )
  const headers = { authorization: edge.authorization('admin') }
  for (let at = 0; at < 20; at += 1) t.equal((await fetch(`${edge.url}/agents`, { headers })).status, 200)
  await until(() => said(edge, 'spans are dropped').length > 0)
  t.match(said(edge, 'spans are dropped'), [/"why":"ECONNREFUSED"/])
})

t.test('what is left is sent at the end', async (t) => {
  const { collector, edge, ask } = await tracedEdge(t, { cluster: { workers: 0, agents: 2 } })
  const { traceId } = await ask('/agents')
  await edge.edge.drain(0)
  t.ok(collector.spans.filter((span) => span.traceId === traceId).length > 5)
})
