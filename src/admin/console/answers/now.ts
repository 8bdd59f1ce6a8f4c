/** What the console's API answers of the edge as a whole. Times in milliseconds, sizes in bytes. */

export interface Standing {
  readonly edge: {
    readonly name: string
    readonly version: string
    readonly uptime: number
    /** Where clients reach it. */
    readonly url: string
    readonly ready: boolean
    readonly reasons: readonly string[]
  }
  readonly cache: CacheStanding
  readonly you: { readonly name: string; readonly mayPurge: boolean }
}

export interface CacheStanding {
  readonly enabled: boolean
  readonly shared: boolean
  /** Does Redis answer? Absent without one. */
  readonly away?: boolean
  /** What the store last said of itself. */
  readonly lastEvent?: { readonly event: string; readonly reason?: string; readonly ago: number }
}

/** One moment, or a stretch of time. Latencies are absent where nobody asked. */
export interface Rates {
  readonly perSecond: number
  /** Of the requests that the cache could have answered; absent: there were none. */
  readonly hitRatio?: number
  readonly p50?: number
  readonly p99?: number
  readonly callsPerSecond: number
  /** Milliseconds of a manager's time that hits saved, each second. */
  readonly savedPerSecond: number
  readonly failuresPerSecond: number
}

export interface Now extends Standing {
  /** Of the last ten seconds. */
  readonly rates: Rates
  readonly sinceStart: Totals
}

export interface Totals {
  readonly requests: number
  readonly hits: number
  readonly cacheable: number
  readonly calls: number
  readonly saved: number
  readonly failures: number
}

/** Columns of equal length: one point for each stretch, oldest first; `null`: nobody asked, or this replica did not run. */
export interface History {
  /** Milliseconds of one stretch. */
  readonly stretch: number
  /** Seconds since 1970, the end of each stretch. */
  readonly at: readonly number[]
  readonly perSecond: readonly (number | null)[]
  readonly hitRatio: readonly (number | null)[]
  readonly p50: readonly (number | null)[]
  readonly p99: readonly (number | null)[]
  readonly callsPerSecond: readonly (number | null)[]
  readonly savedPerSecond: readonly (number | null)[]
}
