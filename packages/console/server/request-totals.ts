/** Sums of the requests and calls since the start. */
import { BUCKET_BOUNDS_MS, bucketOf } from '../../../src/core/latency-buckets.ts'
import type { RequestTotals } from '../../../src/status/edge-view.ts'
import type { Totals } from './api-types.ts'
import { LatencyHistogram } from './latency-histogram.ts'

/** Returns the sums of all requests and calls, with the latencies of the requests. */
export function sumsOf({ cells, bounds, calls }: RequestTotals): Totals & { readonly times: LatencyHistogram } {
  const buckets = [...bounds, Number.POSITIVE_INFINITY].map((bound) => bucketOf(BUCKET_BOUNDS_MS, bound))
  const sums = { requests: 0, hits: 0, cacheable: 0, saved: 0, failures: 0 }
  const times = new LatencyHistogram()
  for (const { requests, isHit, cache, status, fetchTime, counts } of cells) {
    sums.requests += requests
    if (isHit) sums.hits += requests
    if (isHit || cache === 'miss') sums.cacheable += requests
    if (status >= 500) sums.failures += requests
    sums.saved += fetchTime
    for (const [at, bucket] of buckets.entries()) times.addTo(bucket, counts[at] ?? 0)
  }
  return { ...sums, calls, times }
}

/** Returns the counts of a cache group. */
export function sumsOfGroup(
  { cells }: RequestTotals,
  name: string,
): { readonly hits: number; readonly misses: number } {
  const counts = { hits: 0, misses: 0 }
  for (const { group, isHit, cache, requests } of cells) {
    if (group !== name) continue
    if (isHit) counts.hits += requests
    else if (cache === 'miss') counts.misses += requests
  }
  return counts
}
