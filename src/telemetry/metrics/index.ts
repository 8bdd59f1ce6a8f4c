/**
 * The metrics of the process in the text format of Prometheus: registers the rows of the table with the metrics
 * library.
 */

import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from '@platformatic/prom-client'
import type { EventListeners } from '../../core/events.ts'
import { waitForTurn } from '../../core/turns.ts'
import type { EdgeEvents } from '../events.ts'
import { type LabelValue, ReadHistogram } from './read-histogram.ts'
import { type EventSeries, eventSeries, type MetricsSources, type StateSeries, stateSeries } from './table.ts'

interface MetricsOptions extends MetricsSources {
  readonly events: Pick<EdgeEvents, 'collect' | 'requests'>
}

export type Metrics = ReturnType<typeof createMetrics>

/** Milliseconds between samples of the event loop delay. */
const EVENT_LOOP_SAMPLING_MS = 20

/** Registers all rows of the table and counts events from now on, until `close`. */
export function createMetrics({ events, ...sources }: MetricsOptions) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLING_MS })
  for (const row of stateSeries) if (row.when?.(sources) !== false) registerStateSeries(registry, row, sources)
  const off = events.collect(createCounters(registry, sources))
  return {
    /** The media type of `text`. */
    contentType: registry.contentType,
    text: async (): Promise<string> => {
      events.requests.drain()
      const texts: string[] = []
      for (const metric of registry.getMetricsAsArray()) {
        texts.push(await textOf(metric as unknown as Metric<string>))
      }
      return texts.join('\n')
    },
    close: (): void => {
      off()
      registry.clear()
    },
  }
}

/** Samples whose text takes about a millisecond. */
const SAMPLES_PER_PIECE = 500

/** Returns the text of a metric, which may have thousands of samples: it is written in turns of the event loop. */
async function textOf(metric: Metric<string>): Promise<string> {
  await waitForTurn(1)
  const { values, ...head } = await metric.get()
  let text = ''
  for (let at = 0; at === 0 || at < values.length; at += SAMPLES_PER_PIECE) {
    await waitForTurn(1)
    const piece = new Registry()
    const get = () => ({ ...head, values: values.slice(at, at + SAMPLES_PER_PIECE) })
    piece.registerMetric({ name: head.name, get } as unknown as Metric)
    const written = await piece.metrics()
    // Each piece begins with the two lines that describe the metric.
    text += at === 0 ? written : written.replace(/^.*\n.*\n/, '')
  }
  return text
}

function createCounters(registry: Registry, sources: MetricsSources): EventListeners {
  const counters = new Map<string, ReturnType<typeof registerEventSeries>[]>()
  for (const row of eventSeries) {
    if (row.when?.(sources) === false) continue
    counters.set(row.on, [...(counters.get(row.on) ?? []), registerEventSeries(registry, row, sources)])
  }
  // The table types each row by the event that it names. An event without a row is not counted.
  const count = (name: string, event: unknown): void => {
    for (const countEvent of counters.get(name) ?? []) countEvent(event as never)
  }
  return {
    nodeCall: (event) => count('nodeCall', event),
    failedLogin: (reason) => count('failedLogin', { reason }),
    redisStep: (event) => count('redisStep', event),
    cache: (event) => count(`cache.${event.kind}`, event),
    storeEvent: (event) => count('storeEvent', { event }),
    uncaughtConnectionError: (event) => count('uncaughtConnectionError', event),
  }
}

type Labels = Readonly<Record<string, LabelValue>>
type Values = Readonly<Record<string, LabelValue | undefined>>
type Add = (labels: Labels, value: number) => void

/** Returns the function that counts one event; the events of a row have one type. */
function registerEventSeries(registry: Registry, row: EventSeries, sources: MetricsSources): (event: never) => void {
  const { add, zero } = row.buckets === undefined ? counterOf(registry, row) : histogramOf(registry, row, row.buckets)
  const addZeros = createZeros(row, sources, zero)
  const fields = Object.entries(row.labels)
  const { value } = row
  return (event) => {
    addZeros?.(event)
    const added = value === undefined ? 1 : value(event)
    if (added === undefined) return
    const labels: Record<string, LabelValue> = {}
    const values: Values = event
    for (const [name, field] of fields) labels[name] = values[field] ?? ''
    add(labels, added)
  }
}

function counterOf(registry: Registry, { name, help, labels }: EventSeries) {
  const counter = new Counter({ name, help, labelNames: Object.keys(labels), registers: [registry] })
  const add: Add = (labels, value) => counter.inc(labels, value)
  return { add, zero: (labels: Labels) => add(labels, 0) }
}

function histogramOf(registry: Registry, { name, help, labels }: EventSeries, buckets: readonly number[]) {
  const config = { name, help, buckets: [...buckets], labelNames: Object.keys(labels), registers: [registry] }
  const histogram = new Histogram(config)
  const add: Add = (labels, value) => histogram.observe(labels, value)
  return { add, zero: (labels: Labels) => histogram.zero(labels) }
}

/**
 * Creates the series of the known label values. If a label has no known values, returns a function that creates the
 * series of each new value of that label.
 */
function createZeros(
  { labels, known }: EventSeries,
  sources: MetricsSources,
  zero: (labels: Labels) => void,
): ((event: never) => void) | undefined {
  if (known === undefined) return undefined
  const values = known(sources)
  const names = Object.keys(labels)
  const open = names.find((name) => values[name] === undefined)
  const create = (openValue: LabelValue) => {
    const sets = names.reduce<readonly Labels[]>(
      (found, name) =>
        found.flatMap((set) => (values[name] ?? [openValue]).map((value) => ({ ...set, [name]: value }))),
      [{}],
    )
    for (const set of sets) zero(set)
  }
  if (open === undefined) {
    create('')
    return undefined
  }
  const field = labels[open] ?? ''
  const seen = new Set<LabelValue>()
  return (event) => {
    const value = (event as Values)[field] ?? ''
    if (seen.has(value)) return
    seen.add(value)
    create(value)
  }
}

/** Registers a series that is read at each scrape. */
function registerStateSeries(registry: Registry, row: StateSeries, sources: MetricsSources): void {
  if (row.type === 'histogram') {
    const histogram = new ReadHistogram(row, () => row.read(sources))
    registry.registerMetric(histogram as unknown as Metric)
    return
  }
  const samples = () => {
    const value = row.read(sources)
    return typeof value === 'number' ? [[{}, value] as const] : value
  }
  const { name, help, labels: labelNames = [] } = row
  const Series = row.type === 'gauge' ? Gauge : Counter
  const series = new Series({ name, help, labelNames, registers: [registry], collect })
  function collect(): void {
    series.reset()
    // The library resets a series without labels to 0.
    if (labelNames.length === 0) series.remove()
    for (const [labels, value] of samples()) {
      if (series instanceof Gauge) series.set(labels, value)
      else series.inc(labels, value)
    }
  }
}
