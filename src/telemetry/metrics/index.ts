/** The metrics of the process in the text format of Prometheus. */

import { performance } from 'node:perf_hooks'
import { collectDefaultMetrics, Histogram, Registry, Summary } from '@platformatic/prom-client'
import type { EventListeners } from '../../core/events.ts'
import type { EdgeEvents } from '../events.ts'
import { type MetricsRegistry, registerEventSeries, registerStateSeries } from './series.ts'
import type { MetricFamily, ProcessMetrics } from './sum.ts'
import { eventSeries, type MetricsSources, stateSeries } from './table.ts'

export interface MetricsOptions extends MetricsSources {
  readonly events: Pick<EdgeEvents, 'on' | 'requests'>
}

export interface Metrics {
  /** The media type of `text`. */
  readonly contentType: string
  text(): Promise<string>
  /** The same as values, for the sum over processes. */
  values(): Promise<ProcessMetrics>
  close(): void
}

/** Milliseconds between samples of the event loop delay. */
const EVENT_LOOP_SAMPLING_MS = 20

/** Registers all rows of the table and counts events from now on, until `close`. */
export function createMetrics({ events, ...sources }: MetricsOptions): Metrics {
  const registry: MetricsRegistry = new Registry()
  // Only OpenMetrics has exemplars.
  if (sources.exemplars) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLING_MS })
  const stopSampling = sampleUtilization(registry)
  for (const row of stateSeries) if (row.when?.(sources) !== false) registerStateSeries(registry, row, sources)
  const off = events.on(createCounters(registry, sources))
  return {
    contentType: registry.contentType,
    text: async () => {
      events.requests.drain()
      return registry.metrics()
    },
    values: async () => {
      events.requests.drain()
      const families = ((await registry.getMetricsAsJSON()) as unknown as MetricFamily[]).map(withLabels)
      return { contentType: registry.contentType, families }
    },
    close: () => {
      off()
      stopSampling()
      registry.clear()
    },
  }
}

/** The library omits the labels of the sum and the count of a summary. */
function withLabels(family: MetricFamily): MetricFamily {
  return { ...family, values: family.values.map((sample) => ({ ...sample, labels: sample.labels ?? {} })) }
}

function createCounters(registry: MetricsRegistry, sources: MetricsSources): EventListeners {
  const counters = new Map<string, ReturnType<typeof registerEventSeries>[]>()
  for (const row of eventSeries) {
    if (row.when?.(sources) === false) continue
    counters.set(row.on, [...(counters.get(row.on) ?? []), registerEventSeries(registry, row, sources)])
  }
  // The table types each row by the event that it names. An event without a row is not counted.
  const count = (name: string, event: unknown): void => {
    for (const countEvent of counters.get(name) ?? []) countEvent(event as never)
  }
  const events = new Set(sources.storeEvents)
  return {
    nodeCall: (event) => count('nodeCall', event),
    failedLogin: (event) => count('failedLogin', event),
    redisStep: (event) => count('redisStep', event),
    cache: (event) => count(`cache.${event.kind}`, event),
    storeEvent: (event) => count('storeEvent', events.has(event) ? event : 'other'),
    uncaughtConnectionError: (event) => count('uncaughtConnectionError', event),
  }
}

/** Of the samples of the utilization of the event loop, which the metrics library does not measure. */
const SAMPLING_MS = 100
const BUCKETS = [0.01, 0.05, 0.1, 0.25, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99, 1]
const PERCENTILES = [0.01, 0.05, 0.5, 0.9, 0.95, 0.99, 0.999]
const NAME = 'nodejs_eventloop_utilization'

/** Samples until the returned function is called. A blocked event loop counts once for each sample that it has missed. */
function sampleUtilization(registry: MetricsRegistry): () => void {
  const help =
    'Ratio of time the event loop is not idling in the event provider to the total time the event loop is running.'
  const common = { help, registers: [registry] }
  const summary = { name: `${NAME}_summary`, maxAgeSeconds: 60, ageBuckets: 5, percentiles: PERCENTILES }
  const series = [
    new Summary({ ...common, ...summary }),
    new Histogram({ ...common, name: `${NAME}_histogram`, buckets: BUCKETS }),
  ]
  let last = performance.eventLoopUtilization()
  let sampledAt = performance.now()
  const timer = setInterval(() => {
    const current = performance.eventLoopUtilization()
    const now = performance.now()
    const { utilization } = performance.eventLoopUtilization(current, last)
    for (let missed = Math.round((now - sampledAt) / SAMPLING_MS); missed > 0; missed -= 1) {
      for (const metric of series) metric.observe(utilization)
    }
    last = current
    sampledAt = now
  }, SAMPLING_MS)
  timer.unref()
  return () => clearInterval(timer)
}
