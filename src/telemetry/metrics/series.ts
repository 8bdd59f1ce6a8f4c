/** Registers the rows of the table with the metrics library. */
import {
  Counter,
  Gauge,
  Histogram,
  type Metric,
  type Registry,
  type RegistryContentType,
} from '@platformatic/prom-client'
import { type LabelValue, ReadHistogram } from './read-histogram.ts'
import type { EventSeries, MetricsSources, StateSeries } from './table.ts'

/** A registry for either text format. */
export type MetricsRegistry = Registry<RegistryContentType>

type Labels = Readonly<Record<string, LabelValue>>
/** Counts or observes a value. */
type Add = (labels: Labels, value: number) => void

/** Returns name and help text of a row, and those of its deprecated name if it has one. */
function namesOf({ name, help, deprecated }: EventSeries | StateSeries): readonly { name: string; help: string }[] {
  if (deprecated === undefined) return [{ name, help }]
  return [
    { name, help },
    { name: deprecated, help: `Deprecated since 0.2.0: use ${name}.` },
  ]
}

/** Returns the function that counts one event; the events of a row have one type. */
export function registerEventSeries(
  registry: MetricsRegistry,
  row: EventSeries,
  sources: MetricsSources,
): (event: never) => void {
  const { add, zero } = row.buckets === undefined ? counterOf(registry, row) : histogramOf(registry, row, row.buckets)
  const addZeros = createZeros(row, sources, zero)
  const readers = Object.entries(row.labels)
  const { value = () => 1 } = row
  return (event) => {
    addZeros?.(event)
    const added = value(event)
    if (added !== undefined) add(Object.fromEntries(readers.map(([name, read]) => [name, read(event)])), added)
  }
}

function counterOf(registry: MetricsRegistry, row: EventSeries): { readonly add: Add; zero(labels: Labels): void } {
  const config = { labelNames: Object.keys(row.labels), registers: [registry] }
  const counters = namesOf(row).map((names) => new Counter({ ...names, ...config }))
  const add: Add = (labels, value) => {
    for (const counter of counters) counter.inc(labels, value)
  }
  return { add, zero: (labels) => add(labels, 0) }
}

function histogramOf(registry: MetricsRegistry, { name, help, labels }: EventSeries, buckets: readonly number[]) {
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
  const read = labels[open]
  const seen = new Set<LabelValue>()
  return (event) => {
    const value = read?.(event) ?? ''
    if (seen.has(value)) return
    seen.add(value)
    create(value)
  }
}

/** Registers a series that is read at each scrape. */
export function registerStateSeries(registry: MetricsRegistry, row: StateSeries, sources: MetricsSources): void {
  if (row.type === 'histogram') {
    const histogram = new ReadHistogram(row, () => row.read(sources))
    registry.registerMetric(histogram as unknown as Metric)
    return
  }
  const samples = () => {
    const value = row.read(sources)
    return typeof value === 'number' ? [[{}, value] as const] : value
  }
  for (const names of namesOf(row)) {
    const { labels: labelNames = [], processes: aggregator } = row
    const config = { ...names, labelNames, registers: [registry], ...(aggregator && { aggregator }) }
    if (row.type === 'gauge') {
      new Gauge({
        ...config,
        collect() {
          this.reset()
          // The library resets a gauge without labels to 0.
          if (labelNames.length === 0) this.remove()
          for (const [labels, value] of samples()) this.set(labels, value)
        },
      })
    } else {
      new Counter({
        ...config,
        collect() {
          this.reset()
          for (const [labels, value] of samples()) this.inc(labels, value)
        },
      })
    }
  }
}
