/** Registers the rows of the table with the metrics library and finds the cell that an event counts in. */
import { Counter, Gauge, type Metric, type Registry, type RegistryContentType } from '@platformatic/prom-client'
import { type HistogramCounts, type LabelValue, PlainHistogram } from './plain-histogram.ts'
import type { EventSeries, MetricsSources, StateSeries } from './table.ts'

/** A registry for either text format. */
export type MetricsRegistry = Registry<RegistryContentType>

type Labels = Readonly<Record<string, LabelValue>>

/** Returns name and help text of a row, and those of its deprecated name if it has one. */
function namesOf({ name, help, deprecated }: EventSeries | StateSeries): readonly { name: string; help: string }[] {
  if (deprecated === undefined) return [{ name, help }]
  return [
    { name, help },
    { name: deprecated, help: `Deprecated since 0.2.0: use ${name}.` },
  ]
}

/** One label set of a series. */
interface Cell {
  add(value: number): void
  /** Histograms only. */
  addAll?(values: Omit<HistogramCounts, 'labels'>): void
  reset(): void
}

interface Series {
  /** Creates the cell of a new label set, with the value 0. */
  create(labels: Labels): Cell
}

export interface EventCounter {
  /** Counts one event; the events of a row have one type. */
  count(event: never): void
  /** Forgets what was counted. The series stay. */
  reset(): void
}

export function registerEventSeries(
  registry: MetricsRegistry,
  row: EventSeries,
  sources: MetricsSources,
): EventCounter {
  const series = row.buckets === undefined ? counterOf(registry, row) : histogramOf(registry, row, row.buckets)
  const cells = new Cells(row, series)
  const zeros = createZeros(row, sources, cells)
  const { value, values } = row
  return {
    count: (event) => {
      zeros?.(event)
      if (values !== undefined) return cells.find(event).addAll?.(values(event))
      const added = value === undefined ? 1 : value(event)
      if (added !== undefined) cells.find(event).add(added)
    },
    reset: () => cells.reset(),
  }
}

/** Counts in plain numbers, which the library reads at a scrape: its own `inc` would validate labels for each event. */
function counterOf(registry: MetricsRegistry, row: EventSeries): Series {
  const cells: (Cell & { readonly labels: Labels; total: number })[] = []
  for (const names of namesOf(row)) {
    new Counter({
      ...names,
      labelNames: Object.keys(row.labels),
      registers: [registry],
      collect() {
        this.reset()
        for (const { labels, total } of cells) this.inc(labels, total)
      },
    })
  }
  return {
    create: (labels) => {
      const cell = {
        labels,
        total: 0,
        add(value: number) {
          this.total += value
        },
        reset() {
          this.total = 0
        },
      }
      cells.push(cell)
      return cell
    },
  }
}

function histogramOf(registry: MetricsRegistry, { name, help }: EventSeries, buckets: readonly number[]): Series {
  const histogram = new PlainHistogram(name, help, buckets)
  registry.registerMetric(histogram as unknown as Metric)
  return histogram
}

/** The cells of a series, by the values of their labels. */
class Cells {
  readonly #names: readonly string[]
  readonly #readers: readonly ((event: never) => LabelValue)[]
  readonly #series: Series
  readonly #cells = new Map<string, Cell>()

  constructor({ labels }: EventSeries, series: Series) {
    this.#names = Object.keys(labels)
    this.#readers = Object.values(labels)
    this.#series = series
  }

  find(event: never): Cell {
    return this.at(this.#readers.map((read) => read(event)))
  }

  /** Returns the cell of these label values, in the order of the labels. */
  at(values: readonly LabelValue[]): Cell {
    const key = values.join('\n')
    const known = this.#cells.get(key)
    if (known !== undefined) return known
    const cell = this.#series.create(Object.fromEntries(this.#names.map((name, at) => [name, values[at] ?? ''])))
    this.#cells.set(key, cell)
    return cell
  }

  reset(): void {
    for (const cell of this.#cells.values()) cell.reset()
  }
}

/**
 * Creates the series of the known label values. If a label has no known values, returns a function that creates the
 * series of each new value of that label.
 */
function createZeros(
  { labels, known }: EventSeries,
  sources: MetricsSources,
  cells: Cells,
): ((event: never) => void) | undefined {
  if (known === undefined) return undefined
  const values = known(sources)
  const names = Object.keys(labels)
  const open = names.find((name) => values[name] === undefined)
  const create = (openValue: LabelValue) => {
    for (const set of product(names.map((name) => values[name] ?? [openValue]))) cells.at(set)
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

function product(sets: readonly (readonly LabelValue[])[]): readonly (readonly LabelValue[])[] {
  return sets.reduce<readonly (readonly LabelValue[])[]>(
    (left, right) => left.flatMap((values) => right.map((value) => [...values, value])),
    [[]],
  )
}

/** Registers a series that is read at each scrape. */
export function registerStateSeries(registry: MetricsRegistry, row: StateSeries, sources: MetricsSources): void {
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
