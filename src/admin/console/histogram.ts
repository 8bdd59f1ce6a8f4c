/** Times in buckets that grow by a quarter: small enough to keep one for each ten seconds of an hour. */
const LEAST = 0.05
const GROWTH = 1.25
const BUCKETS = 66

export class Histogram {
  readonly #counts = new Uint32Array(BUCKETS)
  #total = 0

  add(ms: number): void {
    const at = ms <= LEAST ? 0 : Math.ceil(Math.log(ms / LEAST) / Math.log(GROWTH))
    const bucket = Math.min(BUCKETS - 1, at)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#total += 1
  }

  merge(other: Histogram): void {
    for (let at = 0; at < BUCKETS; at++) this.#counts[at] = (this.#counts[at] ?? 0) + (other.#counts[at] ?? 0)
    this.#total += other.#total
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }

  /** Milliseconds that so great a share stays below, interpolated in its bucket; undefined: there was nothing. */
  quantile(share: number): number | undefined {
    if (this.#total === 0) return undefined
    let left = share * this.#total
    for (let at = 0; at < BUCKETS; at++) {
      const count = this.#counts[at] ?? 0
      if (count > 0 && left <= count) {
        const top = LEAST * GROWTH ** at
        const bottom = at === 0 ? 0 : top / GROWTH
        return bottom + (top - bottom) * (left / count)
      }
      left -= count
    }
    return LEAST * GROWTH ** (BUCKETS - 1)
  }
}
