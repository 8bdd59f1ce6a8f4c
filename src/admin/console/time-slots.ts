/** Sums and latencies over periods of equal length. */
import { LatencyHistogram } from '../../core/latency-histogram.ts'
import type { Rates, Totals } from './api-types.ts'

const SECOND_MS = 1000

export type Sums = { -readonly [Name in keyof Totals]: number }
export type Slot = Sums & { readonly at: number; readonly times: LatencyHistogram }

export function emptySums(): Sums {
  return { requests: 0, hits: 0, cacheable: 0, calls: 0, saved: 0, failures: 0 }
}

const SUM_NAMES = Object.keys(emptySums()) as (keyof Sums)[]

export function addSums(target: Sums, added: Readonly<Sums>): void {
  for (const name of SUM_NAMES) target[name] += added[name]
}

type Counts = Sums & { readonly times: LatencyHistogram }

/**
 * The counts in the last `size` periods of `periodMs` milliseconds. Nothing is counted here: a period is the difference of
 * the totals at its end and at its start.
 */
export class Periods {
  readonly #size: number
  readonly #periodMs: number
  readonly #readTotals: () => Counts
  readonly #ended: (Slot | undefined)[] = []
  /** The number of the current period, and the totals at its start. */
  #at = -1
  #start: Counts | undefined

  constructor(size: number, periodMs: number, readTotals: () => Counts) {
    this.#size = size
    this.#periodMs = periodMs
    this.#readTotals = readTotals
  }

  /** To be called before something is counted at this time. */
  advance(now: number): void {
    const at = Math.floor(now / this.#periodMs)
    if (at === this.#at) return
    if (this.#start !== undefined) this.#ended[this.#at % this.#size] = this.#current(this.#start)
    this.#at = at
    this.#start = this.#readTotals()
  }

  /** Returns the period with this number. Undefined if nothing was counted in it, or if it is too old. */
  read(at: number): Slot | undefined {
    if (this.#start !== undefined && at === this.#at) return this.#current(this.#start)
    if (at < 0 || at <= this.#at - this.#size) return undefined
    const slot = this.#ended[at % this.#size]
    return slot?.at === at ? slot : undefined
  }

  /** Returns the last `count` completed periods, oldest first; undefined for a period without counts. */
  last(now: number, count: number): (Slot | undefined)[] {
    const current = Math.floor(now / this.#periodMs)
    return Array.from({ length: count }, (_, index) => this.read(current - count + index))
  }

  #current(start: Counts): Slot {
    const { times, ...sums } = this.#readTotals()
    for (const name of SUM_NAMES) sums[name] -= start[name]
    times.merge(start.times, -1)
    return { ...sums, at: this.#at, times }
  }
}

/** Returns the rates over slots that cover `durationMs` milliseconds. */
export function ratesOf(slots: readonly (Counts | undefined)[], durationMs: number): Rates {
  const times = new LatencyHistogram()
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
