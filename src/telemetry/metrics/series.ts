/** Registers the rows of the table with the metrics library and finds the cell that an event counts in. */
import {
  Counter,
  Gauge,
  Histogram,
  type Metric,
  type Registry,
  type RegistryContentType,
} from '@platformatic/prom-client'
import { PlainHistogram } from './plain-histogram.ts'
import type { EventSeries, LabelValue, MetricsSources, StateSeries } from './table.ts'

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
  /** `traceId`: of a sampled trace, for histograms with exemplars. */
  add(value: number, traceId?: string): void
}

interface Series {
  /** Creates the cell of a new label set, with the value 0. */
  create(labels: Labels): Cell
}

/** Registers an event series. Returns the function that counts one event; the events of a row have one type. */
export function registerEventSeries(
  registry: MetricsRegistry,
  row: EventSeries,
  sources: MetricsSources,
): (event: never) => void {
  const exemplar = sources.exemplars ? row.exemplar : undefined
  const series =
    row.buckets === undefined
      ? counterOf(registry, row)
      : histogramOf(registry, row, row.buckets, exemplar !== undefined)
  const cells = new CellTree(row, series)
  const zeros = createZeros(row, sources, cells)
  const { value } = row
  return (event) => {
    zeros?.(event)
    const added = value === undefined ? 1 : value(event)
    if (added !== undefined) cells.find(event).add(added, exemplar?.(event))
  }
}

/** Counts in plain numbers, which the library reads at a scrape: its own `inc` would validate labels at each request. */
function counterOf(registry: MetricsRegistry, row: EventSeries): Series {
  const cells: { readonly labels: Labels; total: number; add(value: number): void }[] = []
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
      }
      cells.push(cell)
      return cell
    },
  }
}

/** The library's histogram only if it is to name traces: it looks up label sets and buckets by texts for each observation. */
function histogramOf(
  registry: MetricsRegistry,
  row: EventSeries,
  buckets: readonly number[],
  enableExemplars: boolean,
): Series {
  if (!enableExemplars) {
    const histogram = new PlainHistogram(row.name, row.help, buckets)
    registry.registerMetric(histogram as unknown as Metric)
    return histogram
  }
  const { name, help, labels } = row
  const labelNames = Object.keys(labels)
  const options = { name, help, labelNames, buckets: [...buckets], enableExemplars, registers: [registry] }
  const histogram = new Histogram(options)
  return {
    create: (labels) => {
      histogram.zero(labels)
      const child = histogram.labels(labels)
      return {
        add: (value, traceId) => {
          if (traceId === undefined) child.observe(value)
          else histogram.observe({ labels: { ...labels }, value, exemplarLabels: { trace_id: traceId } })
        },
      }
    },
  }
}

type Branch = Map<LabelValue, Branch | Cell>

/** The cells of a series, found by one Map lookup per label: this runs several times for each request. */
class CellTree {
  readonly #names: readonly string[]
  readonly #outer: readonly ((event: never) => LabelValue)[]
  readonly #last: (event: never) => LabelValue
  readonly #series: Series
  readonly #root: Branch = new Map()

  constructor({ labels }: EventSeries, series: Series) {
    const readers = Object.values(labels)
    this.#names = Object.keys(labels)
    this.#outer = readers.slice(0, -1)
    this.#last = readers.at(-1) ?? (() => '')
    this.#series = series
  }

  find(event: never): Cell {
    let branch = this.#root
    for (const read of this.#outer) branch = childOf(branch, read(event))
    const cell = branch.get(this.#last(event)) as Cell | undefined
    return cell ?? this.at([...this.#outer, this.#last].map((read) => read(event)))
  }

  /** Returns the cell of these label values, in the order of the labels. */
  at(values: readonly LabelValue[]): Cell {
    let branch = this.#root
    for (const value of values.slice(0, -1)) branch = childOf(branch, value)
    const last = values.at(-1) ?? ''
    const known = branch.get(last) as Cell | undefined
    if (known !== undefined) return known
    const cell = this.#series.create(Object.fromEntries(this.#names.map((name, at) => [name, values[at] ?? ''])))
    branch.set(last, cell)
    return cell
  }
}

function childOf(branch: Branch, value: LabelValue): Branch {
  const known = branch.get(value) as Branch | undefined
  if (known !== undefined) return known
  const child: Branch = new Map()
  branch.set(value, child)
  return child
}

/**
 * Creates the series of the known label values. If a label has no known values, returns a function that creates the
 * series of each new value of that label.
 */
function createZeros(
  { labels, known }: EventSeries,
  sources: MetricsSources,
  cells: CellTree,
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
