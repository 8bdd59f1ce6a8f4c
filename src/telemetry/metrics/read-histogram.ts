/** A histogram whose counts are kept elsewhere. The registry of the metrics library reads them at a scrape. */

import { waitForTurn } from '../../core/turns.ts'

/** Counts whose samples take less than a millisecond. */
const CELLS_PER_PIECE = 64

export type LabelValue = string | number
type Labels = Readonly<Record<string, LabelValue>>

export interface HistogramCounts {
  readonly labels: Labels
  /** One for each bucket, not cumulative; the last one is for values beyond all bounds. */
  readonly counts: Float64Array
  readonly sum: number
}

interface HistogramNames {
  readonly name: string
  readonly help: string
  /** The upper bounds of the buckets, in ascending order. */
  readonly buckets: readonly number[]
}

/** Has the members that the registry reads. */
export class ReadHistogram {
  readonly name: string
  readonly help: string
  readonly type = 'histogram'
  readonly #bounds: readonly number[]
  readonly #read: () => readonly HistogramCounts[]

  /** `read` returns the present counts. Those with the same labels are added. */
  constructor({ name, help, buckets }: HistogramNames, read: () => readonly HistogramCounts[]) {
    this.name = name
    this.help = help
    this.#bounds = buckets
    this.#read = read
  }

  async get() {
    const { name, help, type } = this
    const sums = new Map<string, HistogramCounts>()
    for (const [at, counts] of this.#read().entries()) {
      if (at % CELLS_PER_PIECE === 0) await waitForTurn(1)
      const key = JSON.stringify(counts.labels)
      const known = sums.get(key)
      sums.set(key, known === undefined ? counts : mergeHistograms(known, counts))
    }
    const values = []
    for (const [at, counts] of [...sums.values()].entries()) {
      if (at % CELLS_PER_PIECE === 0) await waitForTurn(1)
      values.push(...this.#samplesOf(counts))
    }
    return { name, help, type, values }
  }

  #samplesOf({ labels, counts, sum }: HistogramCounts) {
    const { name } = this
    let count = 0
    const buckets = Array.from(counts, (inBucket, at) => {
      count += inBucket
      const own = { le: this.#bounds[at] ?? '+Inf' }
      return { metricName: `${name}_bucket`, labels: own, sharedLabels: labels, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
}

function mergeHistograms(one: HistogramCounts, other: HistogramCounts): HistogramCounts {
  const counts = one.counts.map((count, at) => count + (other.counts[at] ?? 0))
  return { labels: one.labels, counts, sum: one.sum + other.sum }
}
