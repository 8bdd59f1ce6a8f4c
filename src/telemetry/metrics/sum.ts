/**
 * The metrics of several processes as one. Counters and histograms are added up; the values of ended processes stay in the
 * sum, so that no counter goes back. The row of each gauge states how it is combined.
 */
import { AggregatorRegistry, Registry, type RegistryContentType } from '@platformatic/prom-client'

/** A registry for either text format. */
export type MetricsRegistry = Registry<RegistryContentType>

/** One metric with its values, as the library describes it. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: string
  /** How the values of processes are combined: `sum`, `max`, …, or `omit` for those of one process only. */
  readonly aggregator: string
  readonly values: MetricSample[]
}

interface MetricSample {
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
  readonly metricName?: string
  exemplar?: unknown
}

export interface ProcessMetrics {
  readonly contentType: string
  readonly families: MetricFamily[]
}

export interface MetricsSum {
  /** Takes the metrics of a process; `id` differs for a process that replaces another one. */
  receive(id: number, metrics: ProcessMetrics): void
  /** Adds the counts of the process to those of ended processes, and forgets its gauges. */
  end(id: number): void
  /**
   * Returns the sum as text. Of a process that is not in `answered` only the counts are included, with their last known
   * values. `own`: metrics that are not of one process.
   */
  text(answered: ReadonlySet<number>, own: readonly MetricFamily[]): Promise<string>
}

type Families = readonly MetricFamily[]

export function createMetricsSum(): MetricsSum {
  let contentType: string = Registry.PROMETHEUS_CONTENT_TYPE
  const last = new Map<number, Families>()
  /** The counts of all ended processes. */
  let ended: Families = []
  return {
    receive: (id, metrics) => {
      contentType = metrics.contentType
      // Families to omit describe one process only, such as its start time.
      last.set(
        id,
        metrics.families.filter(({ aggregator }) => aggregator !== 'omit'),
      )
    },
    end: (id) => {
      const families = last.get(id)
      last.delete(id)
      if (families !== undefined) ended = familiesOf(combine([ended, countsOf(families)]))
    },
    text: async (answered, own) => {
      const known = [...last].map(([id, families]) => (answered.has(id) ? families : countsOf(families)))
      const isOpenMetrics = contentType === Registry.OPENMETRICS_CONTENT_TYPE
      const parts = [...known, ended, own].map((part) => (isOpenMetrics ? part.map(withoutTotal) : part))
      const registry = combine(parts)
      restoreExemplars(familiesOf(registry), parts)
      registry.setContentType(isOpenMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE)
      return registry.metrics()
    },
  }
}

/** Counts that are not added up are of what all processes share: the running ones have them. */
function countsOf(families: Families): Families {
  return families.filter(({ type, aggregator }) => aggregator === 'sum' && (type === 'counter' || type === 'histogram'))
}

function combine(parts: readonly Families[]): MetricsRegistry {
  return AggregatorRegistry.aggregate(parts as unknown as object[])
}

/** The library stores the combined values as properties of the metrics that it registers. */
function familiesOf(registry: MetricsRegistry): Families {
  return registry.getMetricsAsArray() as unknown as Families
}

/** In OpenMetrics, the suffix belongs to the samples; the library adds it to each name of a combined counter. */
function withoutTotal(family: MetricFamily): MetricFamily {
  return family.type === 'counter' ? { ...family, name: family.name.replace(/_total$/, '') } : family
}

/** The library drops exemplars. Each bucket gets that of one of the processes. */
function restoreExemplars(combined: Families, parts: readonly Families[]): void {
  const found = new Map<string, unknown>()
  for (const { name, values } of parts.flat()) {
    for (const sample of values) if (sample.exemplar) found.set(keyOf(name, sample), sample.exemplar)
  }
  if (found.size === 0) return
  for (const { name, values } of combined) {
    for (const sample of values) sample.exemplar = found.get(keyOf(name, sample))
  }
}

function keyOf(name: string, { metricName, labels }: MetricSample): string {
  return JSON.stringify([name, metricName, Object.entries(labels).sort()])
}
