/** Rates as several JSON bodies of the console API have them. Times are milliseconds. */

/** Rates over one period. The ratio and the latencies are absent if the period had no such request. */
export interface Rates {
  readonly perSecond: number
  /** Hits divided by cacheable requests. */
  readonly hitRatio?: number
  readonly p50?: number
  readonly p99?: number
  /** Calls to nodes. */
  readonly callsPerSecond: number
  /** Milliseconds of node time that cache hits saved, per second. */
  readonly savedPerSecond: number
  /** Responses with a 5xx status. */
  readonly failuresPerSecond: number
}
