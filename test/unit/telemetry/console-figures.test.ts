/** The console and /metrics show the same figures, whatever the outcome of requests and calls to nodes. */
import t from 'tap'
import { createTraffic } from '../../../packages/console/server/traffic.ts'
import type { CacheOutcome } from '../../../src/core/cache.ts'
import type { NodeFault } from '../../../src/core/node-faults.ts'
import { createEdgeEvents, RequestCounts } from '../../../src/telemetry/events.ts'
import { createMetrics } from '../../../src/telemetry/metrics/index.ts'
import { requestEvent } from '../../support/request-event.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'

/** Each fault of a call to a node, and whether the node got the call. */
const isSent: Readonly<Record<NodeFault, boolean>> = {
  unreachable: true,
  timeout: true,
  overloaded: false,
  abandoned: false,
  ejected: false,
  drained: false,
  unreadable: true,
  tooLarge: true,
  refusedCredentials: true,
  blocked: true,
  loginsBlocked: false,
  cancelled: true,
}
const faults = Object.keys(isSent) as readonly NodeFault[]
const outcomes: Readonly<Record<CacheOutcome, true>> = { hit: true, stale: true, miss: true, bypass: true, none: true }
const caches = Object.keys(outcomes) as readonly CacheOutcome[]
/** 0: the client disconnected before the response. */
const statuses = [0, 200, 304, 404, 429, 500, 503, 504]
const latencies = [0, 0.05, 0.3, 0.5, 0.6, 1, 7, 40, 260, 1000, 31_000, 200_000]
const groups = ['agents', 'rules']

function start(t: { teardown(end: () => unknown): unknown }) {
  const events = createEdgeEvents()
  const counts = new RequestCounts()
  const traffic = createTraffic({ totals: () => counts, requests: events.requests })
  for (const listeners of [counts, traffic]) events.on(listeners)
  const sources = { version: '1', commit: '', replica: 'r', groups, redis: false, requests: counts }
  const metrics = createMetrics({
    ...sources,
    events,
    ready: () => true,
    degraded: () => [],
    reload: () => ({ succeededAt: 0, pendingRestart: [], counts: { succeeded: 0, failed: 0 } }),
    certificates: () => [],
    nodes: () => [],
    redisCapacity: () => ({}),
    snapshots: () => [],
    audit: () => ({ records: 0, failures: 0 }),
  })
  t.teardown(() => {
    traffic.stop()
    metrics.close()
  })
  return { events, traffic, scrape: async () => samplesOf(await metrics.text()) }
}

t.test('requests: number, hits, failures, saved time, and latencies', async (t) => {
  const { events, traffic, scrape } = start(t)
  const sent = caches.flatMap((cache) =>
    statuses.flatMap((status) =>
      latencies.map((ms, at) => ({
        ...{ cache, status, ms, method: at % 2 === 0 ? 'GET' : 'HEAD', group: groups[at % 3] ?? 'none' },
        ...((cache === 'hit' || cache === 'stale') && { fetchTime: 125 }),
      })),
    ),
  )
  for (const fields of sent) events.emit.request(requestEvent(fields))
  const { requests, hits, cacheable, failures, saved } = traffic.totals()
  const samples = await scrape()
  const sum = (name: string, labels?: Record<string, string>) => sumOf(samples, name, labels)
  const byStatus = (...found: readonly string[]) =>
    found.reduce((all, status) => all + sum('edge_cache_requests_total', { status }), 0)
  t.equal(requests, sent.length)
  t.equal(requests, byStatus(...caches))
  t.equal(requests, sum('http_server_request_duration_seconds_count'))
  t.equal(hits, byStatus('hit', 'stale'))
  t.equal(cacheable, byStatus('hit', 'stale', 'miss'))
  t.equal(saved, Math.round(sum('edge_cache_saved_seconds_total') * 1000))
  const codes = samples.filter(({ name }) => name === 'http_server_request_duration_seconds_count')
  t.equal(
    failures,
    codes
      .filter(({ labels }) => /^5/.test(labels.http_response_status_code ?? ''))
      .reduce((n, { value }) => n + value, 0),
  )
  for (const group of groups) {
    const ofGroup = (status: string) => sum('edge_cache_requests_total', { group, status })
    t.strictSame(traffic.group(group), { hits: ofGroup('hit') + ofGroup('stale'), misses: ofGroup('miss') })
  }
  for (const le of ['0.0005', '0.001', '0.01', '0.05', '1', '30', '+Inf']) {
    const inBucket = sent.filter(({ ms }) => le === '+Inf' || ms / 1000 <= Number(le)).length
    t.equal(sum('http_server_request_duration_seconds_bucket', { le }), inBucket, `latencies up to ${le}`)
  }
  const { seconds } = { seconds: sent.reduce((all, { ms }) => all + ms / 1000, 0) }
  t.ok(Math.abs(sum('http_server_request_duration_seconds_sum') - seconds) < 0.001)
})

t.test('calls to nodes: sent ones, and those that were never sent', async (t) => {
  const { events, traffic, scrape } = start(t)
  const call = { requestId: 'a', node: 'm', method: 'GET', route: '/agents', queueTime: 0 } as const
  for (const status of [200, 404, 503]) events.emit.nodeCall({ ...call, status, ms: 5 })
  for (const fault of faults) events.emit.nodeCall({ ...call, fault, ms: isSent[fault] ? 5 : 0 })
  events.emit.nodeCall({ ...call, fault: 'loginsBlocked', ms: 0.2 })
  const samples = await scrape()
  const sum = (name: string, labels?: Record<string, string>) => sumOf(samples, name, labels)
  const sent = 'http_client_request_duration_seconds_count'
  for (const fault of faults) {
    t.equal(sum(sent, { error_type: fault }), Number(isSent[fault]), `${fault} was sent`)
    const unsent = fault === 'loginsBlocked' ? 2 : Number(!isSent[fault])
    t.equal(sum('edge_node_refused_total', { reason: fault }), unsent, `${fault} was not sent`)
  }
  t.equal(traffic.totals().calls, sum(sent))
  const { calls, failed, errorResponses } = traffic.node('m')
  t.equal(calls, sum(sent) - sum(sent, { error_type: 'cancelled' }), 'a call whose client disconnects is left out')
  t.equal(failed, calls - sum(sent, { error_type: '' }))
  t.equal(
    errorResponses,
    sum(sent, { http_response_status_code: '404' }) + sum(sent, { http_response_status_code: '503' }),
  )
})
