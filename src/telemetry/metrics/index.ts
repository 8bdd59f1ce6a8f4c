/** The metrics of the process in the text format of Prometheus. */
import { collectDefaultMetrics, Registry } from '@platformatic/prom-client'
import type { CacheEvent, EventListeners } from '../../core/events.ts'
import type { EdgeEvents } from '../events.ts'
import { type EventCounter, type MetricsRegistry, registerEventSeries, registerStateSeries } from './series.ts'
import type { MetricFamily, ProcessMetrics } from './sum.ts'
import { eventSeries, type MetricsSources, stateSeries } from './table.ts'
import { sampleUtilization } from './utilization.ts'

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
  const { listeners, countRequests } = createCounters(registry, sources)
  const off = events.on(listeners)
  const update = (): void => {
    events.requests.drain()
    countRequests()
  }
  return {
    contentType: registry.contentType,
    text: async () => {
      update()
      return registry.metrics()
    },
    values: async () => {
      update()
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

type Count = (event: unknown) => void

function createCounters(registry: MetricsRegistry, sources: MetricsSources) {
  const counters = new Map<string, EventCounter[]>()
  for (const row of eventSeries) {
    if (row.when?.(sources) === false) continue
    counters.set(row.on, [...(counters.get(row.on) ?? []), registerEventSeries(registry, row, sources)])
  }
  const all = (name: string): Count => {
    const rows = counters.get(name) ?? []
    return (event) => {
      // The table types each row by the event that it names.
      for (const { count } of rows) count(event as never)
    }
  }
  const events = new Set(sources.storeEvents)
  const countStoreEvent = all('storeEvent')
  const cacheCounts: Readonly<Record<CacheEvent['kind'], Count>> = {
    fetch: all('cache.fetch'),
    collapsed: all('cache.collapsed'),
    invalidated: all('cache.invalidated'),
    verified: all('cache.verified'),
    trial: all('cache.trial'),
    snapshotBuild: all('cache.snapshotBuild'),
    snapshotQuery: all('cache.snapshotQuery'),
  }
  const countCell = all('request')
  const countRequests = (): void => {
    for (const { reset } of counters.get('request') ?? []) reset()
    for (const cell of sources.requests.cells) countCell(cell)
  }
  const listeners: EventListeners = {
    nodeCall: all('nodeCall'),
    failedLogin: all('failedLogin'),
    redisStep: all('redisStep'),
    cache: (event) => cacheCounts[event.kind](event),
    storeEvent: (event) => countStoreEvent(events.has(event) ? event : 'other'),
    uncaughtConnectionError: all('uncaughtConnectionError'),
  }
  return { listeners, countRequests }
}
