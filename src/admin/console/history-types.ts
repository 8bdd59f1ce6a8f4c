/**
 * JSON bodies of `GET /api/history`: rates over the last minutes to hours, as columns of equal length.
 */

export const RANGES = ['5m', '15m', '1h', '6h', '24h'] as const
export type Range = (typeof RANGES)[number]

/** Query of `GET /api/history`. */
export interface HistoryQuery {
  /** A time that ends now. Absent: the shortest one up to an hour that contains all records of the last hour. */
  readonly range?: Range
  /**
   * Any other time, in seconds since 1970, instead of `range`. Without `to`, it ends now. A time over six hours is part of the
   * last 24 hours, in their intervals of five minutes.
   */
  readonly from?: number
  readonly to?: number
  /** The name of one replica. Absent: the sum of all. */
  readonly replica?: string
}

/**
 * One point per interval, oldest first. `null`: the interval had no such request, or no replica has recorded the interval.
 * Latencies are in milliseconds, computed from the added histograms of all replicas and minutes of the interval.
 */
export interface History {
  /** Absent: the query has `from`. */
  readonly range?: Range
  /** Length of one interval in milliseconds. */
  readonly interval: number
  /** End of each interval, in seconds since 1970. */
  readonly at: readonly number[]
  readonly perSecond: readonly (number | null)[]
  /** Hits divided by cacheable requests. */
  readonly hitRatio: readonly (number | null)[]
  readonly p50: readonly (number | null)[]
  readonly p99: readonly (number | null)[]
  readonly callsPerSecond: readonly (number | null)[]
  /** Milliseconds of node time that cache hits saved, per second. */
  readonly savedPerSecond: readonly (number | null)[]
  readonly failuresPerSecond: readonly (number | null)[]
  readonly hitsPerSecond: readonly (number | null)[]
  /** Requests that were answered with a stored response after its freshness lifetime. */
  readonly stalePerSecond: readonly (number | null)[]
  /** Latencies of the calls to nodes. */
  readonly nodeP50: readonly (number | null)[]
  readonly nodeP99: readonly (number | null)[]
  /** The replica that the columns are about. Absent: the sum of all replicas. */
  readonly replica?: string
  /** The names of all replicas with a record in this time (over six hours: in the last 24 hours), and of this one. */
  readonly replicas: readonly string[]
  /** The name of the replica that answers. */
  readonly self: string
  /**
   * Where the records come from. `memory`: no Redis is configured. `unreachable`: the history in Redis could not be read.
   * In both cases, the columns are about this replica alone.
   */
  readonly source: 'redis' | 'memory' | 'unreachable'
  /** Events in this time, oldest first. */
  readonly events: readonly HistoryEvent[]
}

/**
 * `start`: a replica started · `purge` · `ejection`: a replica ejected a node · `reload`: changed settings took effect · `drain`: an
 * operator drained a node · `return`: a drained node was put back, by an operator or at the end of the drain.
 */
export const EVENT_KINDS = ['start', 'purge', 'ejection', 'reload', 'drain', 'return'] as const
export type EventKind = (typeof EVENT_KINDS)[number]

export interface HistoryEvent {
  readonly kind: EventKind
  /** Milliseconds since 1970. */
  readonly at: number
  /** The replica that reported the event. */
  readonly replica: string
  /** The node of an ejection, drain or return, what a purge removed. */
  readonly text?: string
}
