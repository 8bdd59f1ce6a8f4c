/** A histogram that counts in plain numbers. The registry of the metrics library reads it at a scrape. */
import { bucketOf } from '../../core/latency-histogram.ts'

export type LabelValue = string | number
type Labels = Readonly<Record<string, LabelValue>>

/** A sampled trace, in the form of the library. `timestamp`: seconds since 1970. */
export interface Exemplar {
  readonly labelSet: Readonly<Record<string, string>>
  readonly value: number
  readonly timestamp: number
}

export interface HistogramCounts {
  readonly labels: Labels
  /** One for each bucket, not cumulative; the last one is for values beyond all bounds. */
  readonly counts: Float64Array
  readonly sum: number
  /** By bucket. */
  readonly exemplars?: readonly (Exemplar | undefined)[]
}

interface Sample {
  readonly metricName: string
  readonly labels: Labels
  readonly value: number
  readonly exemplar?: Exemplar
}

/** Has the members that the registry reads. */
export class PlainHistogram {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly aggregator = 'sum'
  readonly #bounds: readonly number[]
  #cells: HistogramCell[] = []

  /** `bounds`: the upper bounds of the buckets, in ascending order. */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name
    this.help = help
    this.#bounds = bounds
  }

  /** Returns the counts of a new label set. */
  create(labels: Labels): HistogramCell {
    const cell = new HistogramCell(labels, this.#bounds)
    this.#cells.push(cell)
    return cell
  }

  async get() {
    const { name, help, type, aggregator } = this
    return { name, help, type, aggregator, values: this.#cells.flatMap((cell) => this.#samplesOf(cell)) }
  }

  reset(): void {
    this.#cells = []
  }

  #samplesOf({ labels, counts, sum, exemplars }: HistogramCounts): readonly Sample[] {
    const { name } = this
    const samples: Sample[] = []
    let count = 0
    for (const [at, inBucket] of counts.entries()) {
      count += inBucket
      const le = this.#bounds[at] ?? '+Inf'
      const exemplar = exemplars?.[at]
      samples.push({
        metricName: `${name}_bucket`,
        labels: { le, ...labels },
        value: count,
        ...(exemplar && { exemplar }),
      })
    }
    samples.push(
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    )
    return samples
  }
}

class HistogramCell implements HistogramCounts {
  readonly labels: Labels
  readonly counts: Float64Array
  sum = 0
  exemplars: (Exemplar | undefined)[] = []
  readonly #bounds: readonly number[]

  constructor(labels: Labels, bounds: readonly number[]) {
    this.labels = labels
    this.#bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  add(value: number): void {
    const at = bucketOf(this.#bounds, value)
    this.counts[at] = (this.counts[at] ?? 0) + 1
    this.sum += value
  }

  addAll({ counts, sum, exemplars = [] }: Omit<HistogramCounts, 'labels'>): void {
    for (const [at, count] of counts.entries()) this.counts[at] = (this.counts[at] ?? 0) + count
    this.sum += sum
    for (const [at, exemplar] of exemplars.entries()) {
      if (exemplar && !((this.exemplars[at]?.timestamp ?? 0) > exemplar.timestamp)) this.exemplars[at] = exemplar
    }
  }

  reset(): void {
    this.counts.fill(0)
    this.sum = 0
    this.exemplars = []
  }
}
