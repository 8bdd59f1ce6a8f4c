/** Sums, rates and latencies over periods of equal length, and the calls to a node in slots of one minute. */
import type { NodeCallEvent } from '../../core/events.ts'
import { LatencyHistogram } from '../../core/latency-histogram.ts'
import type { Totals } from './api-types.ts'
import type { Rates } from './node-types.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const NODE_WINDOW_MINUTES = 5

export type Sums = { -readonly [Name in keyof Totals]: number }
/** `times`: latencies of requests. `nodeTimes`: of calls to nodes. */
export type Counts = Sums & { readonly times: LatencyHistogram; readonly nodeTimes: LatencyHistogram }
export type Slot = Counts & { readonly at: number }

function emptySums(): Sums {
  return { requests: 0, hits: 0, cacheable: 0, calls: 0, saved: 0, failures: 0, stale: 0 }
}

export function emptyCounts(): Counts {
  return { ...emptySums(), times: new LatencyHistogram(), nodeTimes: new LatencyHistogram() }
}

export const SUM_NAMES = Object.keys(emptySums()) as (keyof Sums)[]

export function addSums(target: Sums, added: Readonly<Sums>): void {
  for (const name of SUM_NAMES) target[name] += added[name]
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
    cacheablePerSecond: perSecond(sums.cacheable),
    callsPerSecond: perSecond(sums.calls),
    savedPerSecond: perSecond(sums.saved),
    failuresPerSecond: perSecond(sums.failures),
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
  const cacheablePerSecond = sum((rates) => rates.cacheablePerSecond ?? 0)
  const hits = sum(({ hitRatio = 0, cacheablePerSecond = 0 }) => hitRatio * cacheablePerSecond)
  return {
    perSecond: sum(({ perSecond }) => perSecond),
    cacheablePerSecond,
    callsPerSecond: sum(({ callsPerSecond }) => callsPerSecond),
    savedPerSecond: sum(({ savedPerSecond }) => savedPerSecond),
    failuresPerSecond: sum(({ failuresPerSecond }) => failuresPerSecond),
    ...(cacheablePerSecond > 0 && { hitRatio: hits / cacheablePerSecond }),
    ...slowest('p50'),
    ...slowest('p99'),
  }
}

/** How a call ended: without a usable response, or with one that reports an error by its status. */
type CallResult = 'ok' | 'failed' | 'errorResponse'

export function resultOf({ status = 0, fault }: NodeCallEvent): CallResult {
  if (fault !== undefined) return 'failed'
  return status >= 400 ? 'errorResponse' : 'ok'
}

export interface NodeTraffic {
  readonly calls: number
  /** Calls without a usable response. */
  readonly failed: number
  /** Responses with a status from 400. */
  readonly errorResponses: number
  readonly p50: number | undefined
  readonly p99: number | undefined
}

/** Calls to one node, in slots of one minute. */
export class NodeWindow {
  readonly #minutes = Array.from({ length: NODE_WINDOW_MINUTES + 1 }, () => ({
    at: -1,
    calls: 0,
    failed: 0,
    errorResponses: 0,
    times: new LatencyHistogram(),
  }))

  add(now: number, ms: number, result: CallResult): void {
    const at = Math.floor(now / MINUTE_MS)
    const minute = this.#minutes[at % this.#minutes.length]
    if (minute === undefined) return
    if (minute.at !== at) {
      minute.times.clear()
      Object.assign(minute, { at, calls: 0, failed: 0, errorResponses: 0 })
    }
    minute.calls += 1
    if (result === 'failed') minute.failed += 1
    if (result === 'errorResponse') minute.errorResponses += 1
    minute.times.add(ms)
  }

  read(now: number): NodeTraffic {
    const from = Math.floor(now / MINUTE_MS) - NODE_WINDOW_MINUTES
    const times = new LatencyHistogram()
    const sums = { calls: 0, failed: 0, errorResponses: 0 }
    for (const minute of this.#minutes) {
      if (minute.at < from) continue
      times.merge(minute.times)
      sums.calls += minute.calls
      sums.failed += minute.failed
      sums.errorResponses += minute.errorResponses
    }
    return { ...sums, p50: times.quantile(0.5), p99: times.quantile(0.99) }
  }
}
