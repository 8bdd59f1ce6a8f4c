/** A histogram that counts in plain numbers. The registry of the metrics library reads it at a scrape. */
import type { LabelValue } from './table.ts'

type Labels = Readonly<Record<string, LabelValue>>

interface Sample {
  readonly metricName: string
  readonly labels: Labels
  readonly value: number
}

/** Has the members that the registry reads. */
export class PlainHistogram {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly aggregator = 'sum'
  readonly #bounds: Float64Array
  #cells: HistogramCell[] = []

  /** `bounds`: the upper bounds of the buckets, in ascending order. */
  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name
    this.help = help
    this.#bounds = Float64Array.from(bounds)
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

  #samplesOf({ labels, counts, sum }: HistogramCell): readonly Sample[] {
    const { name } = this
    const samples: Sample[] = []
    let count = 0
    for (const [at, inBucket] of counts.entries()) {
      count += inBucket
      const le = this.#bounds[at] ?? '+Inf'
      samples.push({ metricName: `${name}_bucket`, labels: { le, ...labels }, value: count })
    }
    samples.push(
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    )
    return samples
  }
}

class HistogramCell {
  readonly labels: Labels
  /** One for each bucket, not cumulative; the last one is for values beyond all bounds. */
  readonly counts: Float64Array
  sum = 0
  readonly #bounds: Float64Array

  constructor(labels: Labels, bounds: Float64Array) {
    this.labels = labels
    this.#bounds = bounds
    this.counts = new Float64Array(bounds.length + 1)
  }

  add(value: number): void {
    const bounds = this.#bounds
    let at = 0
    while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1
    this.counts[at] = (this.counts[at] ?? 0) + 1
    this.sum += value
  }
}
