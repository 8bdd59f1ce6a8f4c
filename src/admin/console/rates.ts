/** Counts that can be added, and the rates and latencies that follow from them. */
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

export type Countable = Readonly<Record<string, number | LatencyHistogram>>

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
