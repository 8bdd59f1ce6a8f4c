/** Counts of latencies in buckets. */
import { BUCKET_BOUNDS_MS, bucketOf } from '../../../src/core/latency-buckets.ts'

const BUCKETS = BUCKET_BOUNDS_MS.length

/** Histograms of replicas and intervals can be added, so their quantiles are exact to one bucket. */
export class LatencyHistogram {
  // Sums over replicas and minutes exceed 32 bits before they exceed the precision of a double.
  readonly #counts = new Float64Array(BUCKETS)
  #total = 0

  add(ms: number): void {
    this.addTo(bucketOf(BUCKET_BOUNDS_MS, ms), 1)
  }

  /** Adds to the bucket with this index; to the last one if there is none. */
  addTo(bucket: number, count: number): void {
    const at = Math.min(BUCKETS - 1, bucket)
    this.#counts[at] = (this.#counts[at] ?? 0) + count
    this.#total += count
  }

  /** `sign`: -1 subtracts the counts. */
  merge(other: LatencyHistogram, sign: 1 | -1 = 1): void {
    for (let at = 0; at < BUCKETS; at++) this.addTo(at, sign * (other.#counts[at] ?? 0))
  }

  /** Returns the quantile in milliseconds, interpolated within its bucket. Undefined if the histogram is empty. */
  quantile(share: number): number | undefined {
    if (this.#total === 0) return undefined
    let left = share * this.#total
    for (let at = 0; at < BUCKETS; at++) {
      const count = this.#counts[at] ?? 0
      if (count > 0 && left <= count) {
        const top = BUCKET_BOUNDS_MS[at] ?? 0
        const bottom = BUCKET_BOUNDS_MS[at - 1] ?? 0
        return bottom + (top - bottom) * (left / count)
      }
      left -= count
    }
    return BUCKET_BOUNDS_MS[BUCKETS - 1]
  }
}
