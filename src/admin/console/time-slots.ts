/** Sums and latencies over periods of equal length, in rings of a fixed size. */
import type { Rates, Totals } from './api-types.ts'

const SECOND_MS = 1000
/** Bounds of the histogram: 66 buckets from 0.05 ms to about 100 s, each a quarter wider than the one before. */
const FIRST_BUCKET_MS = 0.05
const BUCKET_GROWTH = 1.25
export const BUCKETS = 66

export type Sums = { -readonly [Name in keyof Totals]: number }
export type Slot = Sums & { at: number; readonly times: Histogram }

export function emptySums(): Sums {
  return { requests: 0, hits: 0, cacheable: 0, calls: 0, saved: 0, failures: 0 }
}

const SUM_NAMES = Object.keys(emptySums()) as (keyof Sums)[]

export function addSums(target: Sums, added: Readonly<Sums>): void {
  for (const name of SUM_NAMES) target[name] += added[name]
}

/** Returns a ring of `size` slots of `slotMs` milliseconds. A new period reuses the oldest slot. */
export function createSlotRing(size: number, slotMs: number) {
  const slots: Slot[] = Array.from({ length: size }, () => ({ ...emptySums(), at: -1, times: new Histogram() }))
  const slotOf = (at: number): Slot => slots[at % size] ?? { ...emptySums(), at, times: new Histogram() }
  return {
    slotMs,
    /** Returns the slot of the current period. */
    slotAt(now: number): Slot {
      const at = Math.floor(now / slotMs)
      const slot = slotOf(at)
      if (slot.at === at) return slot
      slot.times.clear()
      return Object.assign(slot, emptySums(), { at })
    },
    /** Returns the slot of the period with this number. Undefined if it had no events or was reused. */
    read(at: number): Readonly<Slot> | undefined {
      const slot = at < 0 ? undefined : slotOf(at)
      return slot?.at === at ? slot : undefined
    },
    /** Returns the slots of the last `count` completed periods, oldest first; undefined for a period without events. */
    last(now: number, count: number): (Slot | undefined)[] {
      const current = Math.floor(now / slotMs)
      return Array.from({ length: count }, (_, index) => this.read(current - count + index))
    },
  }
}

/** Returns the rates over slots that cover `durationMs` milliseconds. */
export function ratesOf(
  slots: readonly ((Sums & { readonly times: Histogram }) | undefined)[],
  durationMs: number,
): Rates {
  const times = new Histogram()
  const sums = emptySums()
  for (const slot of slots) {
    if (slot === undefined) continue
    times.merge(slot.times)
    addSums(sums, slot)
  }
  const perSecond = (value: number) => (value * SECOND_MS) / durationMs
  const [p50, p99] = [times.quantile(0.5), times.quantile(0.99)]
  return {
    perSecond: perSecond(sums.requests),
    callsPerSecond: perSecond(sums.calls),
    savedPerSecond: perSecond(sums.saved),
    failuresPerSecond: perSecond(sums.failures),
    ...(sums.cacheable > 0 && { hitRatio: sums.hits / sums.cacheable }),
    ...(p50 !== undefined && { p50 }),
    ...(p99 !== undefined && { p99 }),
  }
}

/** Counts latencies in 66 buckets. Histograms of replicas and intervals can be added, so their quantiles are exact to one bucket. */
export class Histogram {
  // Sums over replicas and minutes exceed 32 bits before they exceed the precision of a double.
  readonly #counts = new Float64Array(BUCKETS)
  #total = 0

  add(ms: number): void {
    const at = ms <= FIRST_BUCKET_MS ? 0 : Math.ceil(Math.log(ms / FIRST_BUCKET_MS) / Math.log(BUCKET_GROWTH))
    const bucket = Math.min(BUCKETS - 1, at)
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#total += 1
  }

  merge(other: Histogram): void {
    for (let at = 0; at < BUCKETS; at++) this.#counts[at] = (this.#counts[at] ?? 0) + (other.#counts[at] ?? 0)
    this.#total += other.#total
  }

  /** Returns the buckets that are not empty: index, count, index, count and so on, by index. */
  pairs(): number[] {
    return Array.from(this.#counts, (count, at) => (count > 0 ? [at, count] : [])).flat()
  }

  /** Adds the result of `pairs`. Ignores pairs with an unknown index. */
  addPairs(pairs: readonly number[]): void {
    for (let at = 0; at + 1 < pairs.length; at += 2) {
      const [bucket, count] = [pairs[at] ?? BUCKETS, pairs[at + 1] ?? 0]
      if (bucket >= BUCKETS) continue
      this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count
      this.#total += count
    }
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }

  /** Returns the quantile in milliseconds, interpolated within its bucket. Undefined if the histogram is empty. */
  quantile(share: number): number | undefined {
    if (this.#total === 0) return undefined
    let left = share * this.#total
    for (let at = 0; at < BUCKETS; at++) {
      const count = this.#counts[at] ?? 0
      if (count > 0 && left <= count) {
        const top = FIRST_BUCKET_MS * BUCKET_GROWTH ** at
        const bottom = at === 0 ? 0 : top / BUCKET_GROWTH
        return bottom + (top - bottom) * (left / count)
      }
      left -= count
    }
    return FIRST_BUCKET_MS * BUCKET_GROWTH ** (BUCKETS - 1)
  }
}
