/** Counts of periods of equal length, and the rates and latencies that follow from them. */
import { LatencyHistogram } from '../../core/latency-histogram.ts'
import type { Totals } from './api-types.ts'
import type { Rates } from './node-types.ts'

const SECOND_MS = 1000

export type Sums = { -readonly [Name in keyof Totals]: number }
/** `times`: latencies of requests. `nodeTimes`: of calls to nodes. */
export type Counts = Sums & { readonly times: LatencyHistogram; readonly nodeTimes: LatencyHistogram }

export function emptyCounts(): Counts {
  const sums = { requests: 0, hits: 0, cacheable: 0, calls: 0, saved: 0, failures: 0, stale: 0 }
  return { ...sums, times: new LatencyHistogram(), nodeTimes: new LatencyHistogram() }
}

type Countable = Readonly<Record<string, number | LatencyHistogram>>

/** Adds all numbers and histograms of the same names. `sign`: -1 subtracts them. */
export function addCounts<T extends Countable>(target: T, added: Partial<T>, sign: 1 | -1 = 1): T {
  const numbers = target as Record<string, number | LatencyHistogram>
  for (const [name, value] of Object.entries(added)) {
    const known = numbers[name]
    if (typeof value === 'number' && typeof known === 'number') numbers[name] = known + sign * value
    else if (value instanceof LatencyHistogram && known instanceof LatencyHistogram) known.merge(value, sign)
  }
  return target
}

/**
 * The counts in the last `size` periods of `periodMs` milliseconds. Nothing is counted here: a period is the difference of
 * the totals at its end and at its start.
 */
export class Periods<T extends Countable> {
  readonly #size: number
  readonly #periodMs: number
  readonly #readTotals: () => T
  readonly #ended: ({ readonly at: number; readonly counts: T } | undefined)[] = []
  /** The number of the current period, and the totals at its start. */
  #at = -1
  #start: T | undefined

  /** `readTotals` returns a copy. */
  constructor(size: number, periodMs: number, readTotals: () => T) {
    this.#size = size
    this.#periodMs = periodMs
    this.#readTotals = readTotals
  }

  /** To be called before something is counted at this time. */
  advance(now: number): void {
    const at = Math.floor(now / this.#periodMs)
    if (at === this.#at) return
    if (this.#start !== undefined)
      this.#ended[this.#at % this.#size] = { at: this.#at, counts: this.#current(this.#start) }
    this.#at = at
    this.#start = this.#readTotals()
  }

  /** Returns the period with this number. Undefined if nothing was counted in it, or if it is too old. */
  read(at: number): T | undefined {
    if (this.#start !== undefined && at === this.#at) return this.#current(this.#start)
    if (at < 0 || at <= this.#at - this.#size) return undefined
    const period = this.#ended[at % this.#size]
    return period?.at === at ? period.counts : undefined
  }

  /** Returns those of the periods before that of `now`, as many as `count`, in which something was counted. */
  before(now: number, count: number): T[] {
    const current = Math.floor(now / this.#periodMs)
    return Array.from({ length: count }, (_, index) => this.read(current - count + index) ?? []).flat() as T[]
  }

  #current(start: T): T {
    return addCounts(this.#readTotals(), start, -1)
  }
}

/** The rates per second, with the counts that they are of. */
const PER_SECOND = {
  perSecond: 'requests',
  cacheablePerSecond: 'cacheable',
  callsPerSecond: 'calls',
  savedPerSecond: 'saved',
  failuresPerSecond: 'failures',
} as const
type RateName = keyof typeof PER_SECOND
const RATE_NAMES = Object.keys(PER_SECOND) as RateName[]

function ratesBy(rateOf: (name: RateName) => number): Record<RateName, number> {
  return Object.fromEntries(RATE_NAMES.map((name) => [name, rateOf(name)])) as Record<RateName, number>
}

/** Returns the rates over periods of together `durationMs` milliseconds. */
export function ratesOf(periods: readonly Counts[], durationMs: number): Rates {
  const sums = periods.reduce((sum, period) => addCounts(sum, period), emptyCounts())
  const [p50, p99] = [sums.times.quantile(0.5), sums.times.quantile(0.99)]
  return {
    ...ratesBy((name) => (sums[PER_SECOND[name]] * SECOND_MS) / durationMs),
    ...(sums.cacheable > 0 && { hitRatio: sums.hits / sums.cacheable }),
    ...(p50 !== undefined && { p50 }),
    ...(p99 !== undefined && { p99 }),
  }
}

/**
 * Returns the rates of several replicas together. Latencies cannot be added: those of the slowest replica count. A replica
 * of an earlier version does not report its cacheable requests, and has no part in the hit ratio.
 */
export function sumRates(all: readonly Rates[]): Rates {
  const sum = (read: (rates: Rates) => number) => all.reduce((total, rates) => total + read(rates), 0)
  const slowest = (name: 'p50' | 'p99') => {
    const values = all.flatMap((rates) => rates[name] ?? [])
    return values.length === 0 ? {} : { [name]: Math.max(...values) }
  }
  const rates = ratesBy((name) => sum((each) => each[name] ?? 0))
  const hits = sum(({ hitRatio = 0, cacheablePerSecond = 0 }) => hitRatio * cacheablePerSecond)
  return {
    ...rates,
    ...(rates.cacheablePerSecond > 0 && { hitRatio: hits / rates.cacheablePerSecond }),
    ...slowest('p50'),
    ...slowest('p99'),
  }
}
