import { Counter, Gauge, Histogram, Registry, type RegistryContentType } from '@platformatic/prom-client'
import t from 'tap'
import type { MetricsRegistry } from '../../../../src/telemetry/metrics/sum.ts'
import { createMetricsSum, type ProcessMetrics } from '../../../../src/telemetry/metrics/sum.ts'

/** The metrics of a process with this many requests. */
async function processWith(
  requests: number,
  ready: 0 | 1,
  contentType: RegistryContentType = Registry.PROMETHEUS_CONTENT_TYPE,
) {
  const isOpenMetrics = contentType !== Registry.PROMETHEUS_CONTENT_TYPE
  const registry: MetricsRegistry = new Registry()
  registry.setContentType(contentType)
  const registers = [registry]
  new Counter({ name: 'requests_total', help: 'r', labelNames: ['code'], registers }).inc({ code: '200' }, requests)
  new Gauge({ name: 'ready', help: 'r', aggregator: 'max', registers }).set(ready)
  new Gauge({ name: 'up', help: 'u', aggregator: 'min', registers }).set(ready)
  new Gauge({ name: 'bytes', help: 'b', registers }).set(100)
  const seconds = new Histogram({
    name: 'seconds',
    help: 's',
    buckets: [1],
    registers,
    enableExemplars: isOpenMetrics,
  })
  const labels = { exemplarLabels: { trace_id: `trace-${requests}` }, labels: {} }
  const observe = seconds.observe.bind(seconds) as unknown as (observed: number | object) => void
  for (let request = 0; request < requests; request += 1) observe(isOpenMetrics ? { value: 0.5, ...labels } : 0.5)
  // As it arrives from another process.
  const families = JSON.parse(JSON.stringify(await registry.getMetricsAsJSON()))
  return { contentType, families } as unknown as ProcessMetrics
}

const samples = (text: string) => text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

t.test('counts are added up, and states are combined as their row says', async (t) => {
  const sum = createMetricsSum()
  sum.receive(1, await processWith(3, 1))
  sum.receive(2, await processWith(4, 0))
  t.strictSame(samples(await sum.text(new Set([1, 2]), [])), [
    'requests_total{code="200"} 7',
    'ready 1',
    'up 0',
    'bytes 200',
    'seconds_bucket{le="1"} 7',
    'seconds_bucket{le="+Inf"} 7',
    'seconds_sum 3.5',
    'seconds_count 7',
  ])
})

t.test('no counter goes back when a process ends, is replaced, or does not answer', async (t) => {
  const sum = createMetricsSum()
  const requests = async (answered: readonly number[]) =>
    samples(await sum.text(new Set(answered), [])).filter((line) => /^(?:requests|bytes)/.test(line))
  sum.receive(1, await processWith(3, 1))
  sum.receive(2, await processWith(4, 1))
  t.strictSame(await requests([1]), ['requests_total{code="200"} 7', 'bytes 100'], 'process 2 does not answer')
  sum.end(2)
  t.strictSame(await requests([1]), ['requests_total{code="200"} 7', 'bytes 100'], 'process 2 has ended')
  sum.receive(3, await processWith(1, 1))
  t.strictSame(await requests([1, 3]), ['requests_total{code="200"} 8', 'bytes 200'], 'process 3 took its place')
  sum.end(1)
  sum.end(3)
  t.strictSame(await requests([]), ['requests_total{code="200"} 8'], 'all have ended')
})

t.test('in OpenMetrics, names of counters are as in one process, and buckets name a trace', async (t) => {
  const sum = createMetricsSum()
  sum.receive(1, await processWith(2, 1, Registry.OPENMETRICS_CONTENT_TYPE as never))
  sum.receive(2, await processWith(5, 1, Registry.OPENMETRICS_CONTENT_TYPE as never))
  const text = await sum.text(new Set([1, 2]), [])
  t.match(text, /# TYPE requests counter\nrequests_total\{code="200"\} 7\n/)
  t.match(text, /seconds_bucket\{le="1"\} 7 # \{trace_id="trace-[25]"\} 0\.5 /)
  t.match(text, /# EOF\n$/)
})

t.test('a counter of what all processes share, such as Redis, is that of the running ones', async (t) => {
  const processWithEvictions = async (evictions: number): Promise<ProcessMetrics> => {
    const registry: MetricsRegistry = new Registry()
    new Counter({ name: 'evictions_total', help: 'e', aggregator: 'max', registers: [registry] }).inc(evictions)
    const families = JSON.parse(JSON.stringify(await registry.getMetricsAsJSON()))
    return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, families }
  }
  const sum = createMetricsSum()
  sum.receive(1, await processWithEvictions(30))
  sum.receive(2, await processWithEvictions(31))
  t.strictSame(samples(await sum.text(new Set([1, 2]), [])), ['evictions_total 31'])
  sum.end(1)
  sum.end(2)
  sum.receive(3, await processWithEvictions(2))
  t.strictSame(samples(await sum.text(new Set([3]), [])), ['evictions_total 2'], 'Redis has started again')
})
