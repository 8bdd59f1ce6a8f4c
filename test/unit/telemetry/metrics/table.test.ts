import t from 'tap'
import { type NodeCallEvent, STORE_EVENTS } from '../../../../src/core/events.ts'
import { createEdgeEvents, RequestCounts } from '../../../../src/telemetry/events.ts'
import { createMetrics } from '../../../../src/telemetry/metrics/index.ts'
import { eventSeries, type MetricsSources, stateSeries } from '../../../../src/telemetry/metrics/table.ts'
import { requestEvent } from '../../../support/request-event.ts'
import { samplesOf, sumOf } from '../../../support/scrape.ts'

const sources: MetricsSources = {
  version: '1.2.3',
  commit: 'abc',
  replica: 'edge-1',
  requests: new RequestCounts(),
  groups: ['agents', 'rules'],
  redis: true,
  ready: () => true,
  degraded: () => [
    ['noNode', true],
    ['redisUnreachable', false],
  ],
  reload: () => ({
    succeededAt: 1_700_000_000_000,
    pendingRestart: ['listen.port'],
    counts: { succeeded: 3, failed: 1 },
  }),
  certificates: () => [{ setting: 'listen.tls.cert', validTo: 1_800_000_000_000 }],
  nodes: () => [
    {
      name: 'm',
      type: 'master',
      inFlight: 2,
      limit: 4,
      slots: 4,
      queue: 1,
      isAvailable: true,
    },
    {
      name: 'w',
      type: 'worker',
      inFlight: 0,
      limit: 4,
      slots: 4,
      queue: 0,
      isAvailable: true,
      ejectedFor: 500,
      hangs: true,
    },
  ],
  store: () => ({
    up: true,
    local: { bytes: 5, entries: 1, limit: 9, evictions: { limit: 2, expired: 3, invalidated: 4, replaced: 5 } },
  }),
  redisCapacity: () => ({
    memory: { bytes: 70, limit: 100, fullest: 0.7, policy: 'volatile-lru', evictions: { limit: 8, expired: 9 } },
    entries: 6,
  }),
  snapshots: () => [
    { url: '/agents#*', group: 'agents', rows: 100, bytes: 5000, queries: 7, calls: 1, needsAllRows: false },
    { url: '/rules#*', group: 'rules', rows: 20, bytes: 900, queries: 0, calls: 1, needsAllRows: false },
  ],
  audit: () => ({ records: 3, failures: 1 }),
  spans: () => ({ sent: 4, dropped: 2 }),
}

const request = requestEvent({ ms: 3, fetchTime: 500 })
const call: NodeCallEvent = { requestId: 'a', node: 'm', method: 'GET', route: '/agents', ms: 5, queueTime: 1 }

function start(overrides: Partial<MetricsSources> = {}) {
  const events = createEdgeEvents()
  const requests = new RequestCounts()
  events.on({ request: requests.request })
  const metrics = createMetrics({ ...sources, requests, ...overrides, events })
  return { events, metrics, scrape: async () => samplesOf(await metrics.text()) }
}

t.test('names are unique, counters end in _total, and every row has a help text', (t) => {
  const rows = [...eventSeries, ...stateSeries]
  const names = rows.map(({ name }) => name)
  t.equal(new Set(names).size, names.length)
  const counters = [
    ...eventSeries.filter(({ buckets }) => buckets === undefined),
    ...stateSeries.filter(({ type }) => type === 'counter'),
  ]
  for (const { name } of counters) t.match(name, /_total$/)
  for (const { name, help } of rows) t.match(help, /\.$/, name)
  t.end()
})

t.test('each event counts in all of its rows', async (t) => {
  const { events, scrape } = start()
  events.emit.request(request)
  events.emit.request({ ...request, status: 0, group: 'none', cache: 'none', fetchTime: undefined })
  events.emit.nodeCall({ ...call, status: 200 })
  events.emit.nodeCall({ ...call, fault: 'overloaded', ms: 0 })
  events.emit.redisStep({ outcome: 'done', ms: 2 })
  events.emit.failedLogin('blocked')
  events.emit.storeEvent('unreachable')
  for (const round of [1, 2]) {
    const samples = await scrape()
    const sum = (name: string, labels?: Record<string, string>) => sumOf(samples, name, labels)
    t.equal(sum('edge_cache_requests_total', { group: 'agents', status: 'hit' }), 1, `scrape ${round}`)
    t.equal(sum('edge_cache_requests_total'), 2)
    t.equal(sum('edge_sent_bytes_total', { group: 'agents' }), 100)
    t.equal(sum('edge_cache_saved_seconds_total'), 0.5)
    t.equal(sum('http_server_request_duration_seconds_count', { http_response_status_code: 'none' }), 1)
    t.equal(sum('http_client_request_duration_seconds_count'), 1, 'a call that was not sent has no duration')
    t.equal(sum('edge_node_wait_duration_seconds_count', { node: 'm' }), 2)
    t.equal(sum('edge_node_refused_total', { node: 'm', reason: 'overloaded' }), 1)
    t.equal(sum('edge_redis_step_duration_seconds_count', { outcome: 'done' }), 1)
    t.equal(sum('edge_redis_events_total', { event: 'unreachable' }), 1)
    t.equal(sum('edge_failed_logins_total', { reason: 'blocked' }), 1)
    t.equal(sum('edge_failed_logins_total'), 1, 'the other reasons are 0')
  }
})

t.test('an event without a row changes no metric and fails nothing', async (t) => {
  const { events, scrape } = start()
  const counted = async () => (await scrape()).filter(({ name }) => name.startsWith('edge_cache'))
  const before = await counted()
  t.doesNotThrow(() => events.emit.cache({ kind: 'of a later release' } as never))
  t.strictSame(await counted(), before)
})

t.test('series of known label values exist with 0 before the first event', async (t) => {
  const { events, scrape } = start()
  const count = async (name: string) => (await scrape()).filter((sample) => sample.name === name).length
  t.equal(await count('edge_cache_requests_total'), 3 * 5, 'groups and none, by outcome')
  t.equal(await count('edge_redis_events_total'), STORE_EVENTS.length)
  t.equal(await count('edge_node_refused_total'), 0, 'the nodes are not known yet')
  events.emit.nodeCall({ ...call, status: 200 })
  t.equal(await count('edge_node_refused_total'), 5, 'all reasons of the node')
})

t.test('state is read at each scrape; a node that was removed disappears', async (t) => {
  const nodes = [...sources.nodes()]
  const { scrape } = start({ nodes: () => nodes })
  t.equal(sumOf(await scrape(), 'edge_node_in_flight'), 2)
  t.equal(sumOf(await scrape(), 'edge_audit_records_total'), 3)
  t.equal(sumOf(await scrape(), 'edge_config_reloads_total', { outcome: 'failed' }), 1)
  t.equal(sumOf(await scrape(), 'edge_certificate_expiry_timestamp_seconds', { setting: 'listen.tls.cert' }), 1.8e9)
  nodes.shift()
  const samples = await scrape()
  t.strictSame(
    samples.filter(({ name }) => name === 'edge_node_ejected').map(({ labels, value }) => [labels.node, value]),
    [['w', 1]],
  )
})

t.test('without Redis and traces their series are absent; after close nothing is counted', async (t) => {
  const { spans, ...rest } = sources
  const events = createEdgeEvents()
  const metrics = createMetrics({ ...rest, redis: false, events })
  t.equal(typeof spans, 'function')
  t.notMatch(await metrics.text(), /edge_redis_|edge_trace_/)
  metrics.close()
  events.emit.request(request)
  t.notMatch(await metrics.text(), /edge_/)
})

t.test('snapshots: number, rows, bytes, queries, and builds with their calls by outcome', async (t) => {
  const { events, scrape } = start()
  events.emit.cache({ kind: 'snapshotQuery', group: 'agents' })
  events.emit.cache({ kind: 'snapshotBuild', group: 'agents', outcome: 'built', calls: 3, ms: 10 })
  events.emit.cache({ kind: 'snapshotBuild', group: 'agents', outcome: 'changed', calls: 2, ms: 10 })
  const samples = await scrape()
  const values = (name: string, labels = {}) => sumOf(samples, name, labels)
  t.equal(values('edge_cache_snapshots'), 2)
  t.equal(values('edge_cache_snapshot_rows'), 120)
  t.equal(values('edge_cache_snapshot_bytes'), 5900)
  t.equal(values('edge_cache_snapshot_queries_total', { group: 'agents' }), 1)
  t.equal(values('edge_cache_snapshot_builds_total', { group: 'agents', outcome: 'changed' }), 1)
  t.equal(values('edge_cache_snapshot_build_calls_total', { group: 'agents' }), 5)
})

t.test('the series of the process are those of dashboards, whatever the metrics library has by itself', async (t) => {
  const { metrics } = start()
  const lag = ['', '_max', '_mean', '_min', '_p50', '_p90', '_p99', '_stddev'].map((part) => `lag${part}_seconds`)
  const names = [
    ...['handles', 'requests', 'resources'].flatMap((what) => [`nodejs_active_${what}`, `nodejs_active_${what}_total`]),
    ...lag.map((name) => `nodejs_eventloop_${name}`),
    ...['external_memory_bytes', 'gc_duration_seconds', 'version_info'].map((name) => `nodejs_${name}`),
    ...['size_total', 'size_used'].map((name) => `nodejs_heap_${name}_bytes`),
    ...['available', 'total', 'used'].map((name) => `nodejs_heap_space_size_${name}_bytes`),
    ...['', 'system_', 'user_'].map((mode) => `process_cpu_${mode}seconds_total`),
    ...['max_fds', 'open_fds', 'resident_memory_bytes', 'start_time_seconds'].map((name) => `process_${name}`),
  ]
  const text = await metrics.text()
  for (const name of names) t.ok(text.includes(`\n# TYPE ${name} `) || text.startsWith(`# HELP ${name} `), name)
})
