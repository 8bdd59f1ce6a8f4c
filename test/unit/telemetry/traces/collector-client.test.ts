import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createCollectorClient } from '../../../../src/telemetry/traces/collector-client.ts'
import type { RunningEdge } from '../../../support/edge.ts'
import { eventually } from '../../../support/eventually.ts'
import { samplesOf, sumOf } from '../../../support/scrape.ts'
import { simulated } from '../../../support/simulated.ts'
import { together } from '../../../support/together.ts'
import { startCollector } from './collector.ts'
import { tracedEdge } from './traced-edge.ts'

const test = together(t, 3)

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

const logged = (edge: RunningEdge, text: string) => edge.logged.filter((line) => line.includes(text))

test('a collector that refuses, redirects or returns HTML costs its spans and one log line', async (t) => {
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
  await eventually(() => logged(edge, 'spans are dropped').length > 0)
  collector.answer((_, response) => response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end())
  const before = collector.requests.length
  t.equal((await ask('/agents')).status, 200)
  await eventually(() => collector.requests.length > before)
  while ((await spans(edge)).dropped < 10) await sleep(10)
  t.equal(elsewhere, 0, 'a redirect is not followed')
  t.match(logged(edge, 'spans are dropped'), [/"reason":"status 403"/], 'one line, without the text of the collector')
  const lost = await spans(edge)
  t.ok(lost.dropped >= 10 && lost.sent === 0, JSON.stringify(lost))

  collector.answer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'))
  t.equal((await ask('/agents')).status, 200)
  await eventually(() => logged(edge, 'accepts spans again').length > 0)
  t.match(logged(edge, 'accepts spans again'), [new RegExp(`"dropped":${lost.dropped}\\b`)], 'one line when it is over')
  const after = await spans(edge)
  t.equal(after.dropped, lost.dropped)
  t.ok(after.sent >= 5, 'an accepted batch counts as sent, whatever the body of the response')
})

test('a collector that never responds delays neither requests nor the shutdown', async (t) => {
  const { collector, edge, ask } = await tracedEdge(t, { cluster: { workers: 0, agents: 2 } })
  collector.answer(() => undefined)
  await ask('/agents')
  await eventually(() => collector.requests.length > 0)
  t.equal((await ask('/agents')).status, 200, 'while a batch is in flight')
  // The collector never responds: without a limit, this would never end.
  t.ok(await edge.edge.drain(0))
  t.equal(logged(edge, 'spans are dropped').length, 1)
})

test('a collector that is unreachable', async (t) => {
  const { edge } = await simulated(
    t,
    { workers: 0, agents: 2 },
    // No service listens on port 9 (discard).
    { settings: { traces: { endpoint: 'http://127.0.0.1:9', sampleRatio: 1, maxPerSecond: 1e4 } } },
  )
  const headers = { authorization: edge.authorization('admin') }
  for (let at = 0; at < 20; at += 1) t.equal((await fetch(`${edge.url}/agents`, { headers })).status, 200)
  await eventually(() => logged(edge, 'spans are dropped').length > 0)
  t.match(logged(edge, 'spans are dropped'), [/"reason":"ECONNREFUSED"/])
})

test('pending spans are sent at shutdown', async (t) => {
  const { collector, edge, ask } = await tracedEdge(t, { cluster: { workers: 0, agents: 2 } })
  const { traceId } = await ask('/agents')
  await edge.edge.drain(0)
  t.ok(collector.spans.filter((span) => span.traceId === traceId).length > 5)
})

test('a batch ends at its timeout and at stop, with the reason', async (t) => {
  const collector = await startCollector(t)
  collector.answer(() => undefined)
  const batch = Buffer.from('{}')
  const quick = createCollectorClient({ url: `${collector.url}/v1/traces`, headers: {}, timeout: 50 })
  t.equal(await quick.send(batch), 'timed out')
  await quick.stop()
  const patient = createCollectorClient({ url: `${collector.url}/v1/traces`, headers: {}, timeout: 10_000 })
  const sending = patient.send(batch)
  await eventually(() => collector.requests.length === 2)
  await patient.stop()
  t.equal(await sending, 'stopped')
})

test('a batch is sent again after 503, and not after 400', async (t) => {
  const collector = await startCollector(t)
  const client = createCollectorClient({ url: `${collector.url}/v1/traces`, headers: {}, timeout: 10_000 })
  t.teardown(() => client.stop())
  collector.answer((_, response) => response.writeHead(collector.requests.length === 1 ? 503 : 200).end())
  t.equal(await client.send(Buffer.from('{}')), undefined)
  t.equal(collector.requests.length, 2)
  collector.answer((_, response) => response.writeHead(400).end())
  t.equal(await client.send(Buffer.from('{}')), 'status 400')
  t.equal(collector.requests.length, 3)
})
