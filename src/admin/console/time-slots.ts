import type { Rates } from './api-types.ts'

/** Sums over seconds and longer stretches, in rings of a fixed size. */

const SECOND = 1000

export interface Sums {
  requests: number
  hits: number
  cacheable: number
  calls: number
  saved: number
  failures: number
}
export type Slot = Sums & { at: number; readonly times: Histogram }

export function nothing(): Sums {
  return { requests: 0, hits: 0, cacheable: 0, calls: 0, saved: 0, failures: 0 }
}

/** Slots of equal length, the oldest used again. */
export function ring(size: number, length: number) {
  const slots: Slot[] = Array.from({ length: size }, () => ({ ...nothing(), at: -1, times: new Histogram() }))
  const find = (at: number): Slot => slots[at % size] ?? ({ ...nothing(), at, times: new Histogram() } satisfies Slot)
  return {
    length,
    slot(now: number): Slot {
      const at = Math.floor(now / length)
      const slot = find(at)
      if (slot.at === at) return slot
      slot.times.clear()
      return Object.assign(slot, nothing(), { at })
    },
    /** Those that are over, oldest first; undefined where nothing happened. */
    last(now: number, count: number): (Slot | undefined)[] {
      const current = Math.floor(now / length)
      return Array.from({ length: count }, (_, index) => {
        const at = current - count + index
        const slot = at < 0 ? undefined : find(at)
        return slot?.at === at ? slot : undefined
      })
    },
  }
}

/** `lasted`: milliseconds that the slots cover. */
export function ratesOf(slots: readonly (Slot | undefined)[], lasted: number): Rates {
  const times = new Histogram()
  const sum = nothing()
  for (const slot of slots) {
    if (slot === undefined) continue
    times.merge(slot.times)
    for (const key of Object.keys(sum) as (keyof Sums)[]) sum[key] += slot[key]
  }
  const perSecond = (value: number) => (value * SECOND) / lasted
  const [p50, p99] = [times.quantile(0.5), times.quantile(0.99)]
  return {
    perSecond: perSecond(sum.requests),
    callsPerSecond: perSecond(sum.calls),
    savedPerSecond: perSecond(sum.saved),
    failuresPerSecond: perSecond(sum.failures),
    ...(sum.cacheable > 0 && { hitRatio: sum.hits / sum.cacheable }),
    ...(p50 !== undefined && { p50 }),
    ...(p99 !== undefined && { p99 }),
  }
}

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
