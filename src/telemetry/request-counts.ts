/**
 * All counts of requests since the start: /metrics and the console read these. The histograms are fine enough for the
 * buckets of both.
 */
import type { RequestEvent } from '../core/events.ts'
import { BUCKET_BOUNDS_MS, bucketOf, LatencyHistogram } from '../core/latency-histogram.ts'
import type { Exemplar, HistogramCounts } from './metrics/read-histogram.ts'

/** A cache hit takes less than one millisecond, so these start below the buckets that OpenTelemetry recommends. */
export const REQUEST_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const REQUEST_BOUNDS_MS = REQUEST_SECONDS.map((seconds) => seconds * 1000)

const BOUNDS_MS = Float64Array.from(new Set([...BUCKET_BOUNDS_MS, ...REQUEST_BOUNDS_MS])).sort()
/** Of each of these buckets, and of the one beyond them: the bucket of /metrics and of the console that contains it. */
const METRICS_BUCKETS = [...BOUNDS_MS, Number.POSITIVE_INFINITY].map((bound) => bucketOf(REQUEST_BOUNDS_MS, bound))
const CONSOLE_BUCKETS = [...BOUNDS_MS, Number.POSITIVE_INFINITY].map((bound) => bucketOf(BUCKET_BOUNDS_MS, bound))

/** The requests with the same labels. */
export type RequestCell = ReturnType<typeof createCell>

function createCell({ method, route, group, status, cache }: RequestEvent) {
  return {
    ...{ method, route, group, status, cache, isHit: cache === 'hit' || cache === 'stale', requests: 0, bytes: 0 },
    /** Milliseconds: of all requests, and those in which nodes produced the stored responses that were served. */
    ...{ ms: 0, fetchTime: 0 },
    /** By bucket; exemplars only of sampled traces. */
    counts: new Float64Array(BOUNDS_MS.length + 1),
    exemplars: undefined as (Exemplar | undefined)[] | undefined,
  }
}

export class RequestCounts {
  /** The cells of each route, of which there are few: to compare their labels costs less than further lookups. */
  readonly #routes = new Map<string, RequestCell[]>()

  readonly request = (event: RequestEvent): void => {
    const cell = this.#cellOf(event)
    const { ms, fetchTime, traceId } = event
    const bucket = bucketOf(BOUNDS_MS, ms)
    cell.requests += 1
    cell.ms += ms
    cell.bytes += event.bytes
    if (fetchTime !== undefined) cell.fetchTime += fetchTime
    cell.counts[bucket] = (cell.counts[bucket] ?? 0) + 1
    if (traceId === undefined) return
    cell.exemplars ??= []
    cell.exemplars[bucket] = { labelSet: { trace_id: traceId }, value: ms / 1000, timestamp: event.at / 1000 }
  }

  get cells(): readonly RequestCell[] {
    return [...this.#routes.values()].flat()
  }

  /** Returns the sums of all requests, with their latencies. `saved`: milliseconds of node time that hits saved. */
  sums() {
    const sums = { requests: 0, hits: 0, cacheable: 0, saved: 0, failures: 0, stale: 0 }
    const times = new LatencyHistogram()
    for (const { requests, isHit, cache, status, fetchTime, counts } of this.cells) {
      sums.requests += requests
      if (isHit) sums.hits += requests
      if (isHit || cache === 'miss') sums.cacheable += requests
      if (status >= 500) sums.failures += requests
      if (cache === 'stale') sums.stale += requests
      sums.saved += fetchTime
      for (const [at, bucket] of CONSOLE_BUCKETS.entries()) times.addTo(bucket, counts[at] ?? 0)
    }
    return { ...sums, times }
  }

  /** Returns hits and misses of a cache group. */
  group(name: string): { readonly hits: number; readonly misses: number } {
    const counts = { hits: 0, misses: 0 }
    for (const { group, isHit, cache, requests } of this.cells) {
      if (group !== name) continue
      if (isHit) counts.hits += requests
      else if (cache === 'miss') counts.misses += requests
    }
    return counts
  }

  #cellOf(event: RequestEvent): RequestCell {
    const { method, route, group, status, cache } = event
    const cells = this.#routes.get(route) ?? []
    for (const cell of cells) {
      if (cell.status === status && cell.cache === cache && cell.method === method && cell.group === group) return cell
    }
    const cell = createCell(event)
    this.#routes.set(route, [...cells, cell])
    return cell
  }
}

/** Returns the durations of the requests in seconds, in the buckets of `REQUEST_SECONDS`. */
export function durationsOf({ ms, counts, exemplars }: RequestCell): Omit<HistogramCounts, 'labels'> {
  const durations = {
    counts: new Float64Array(REQUEST_SECONDS.length + 1),
    sum: ms / 1000,
    exemplars: [] as Exemplar[],
  }
  for (const [at, bucket] of METRICS_BUCKETS.entries()) {
    durations.counts[bucket] = (durations.counts[bucket] ?? 0) + (counts[at] ?? 0)
    const exemplar = exemplars?.[at]
    if (exemplar !== undefined) durations.exemplars[bucket] = exemplar
  }
  return durations
}
