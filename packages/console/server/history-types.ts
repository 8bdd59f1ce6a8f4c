/** JSON bodies of `GET /api/history`: rates of the last minutes up to an hour, as columns of equal length. */

export const RANGES = ['5m', '15m', '1h'] as const
export type Range = (typeof RANGES)[number]

/** Query of `GET /api/history`. */
export interface HistoryQuery {
  /** A time that ends now. Absent: the shortest one that contains all that is known. */
  readonly range?: Range
  /** The name of one replica. Absent: the sum of all. */
  readonly replica?: string
}

/**
 * One point per interval, oldest first. `null`: the interval had no such request, or the replica that answers knows no rates of
 * it. Latencies are in milliseconds, of several replicas those of the slowest one.
 */
export interface History {
  readonly range: Range
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
  /** The replica that the columns are about. Absent: the sum of all replicas. */
  readonly replica?: string
  /** The names of all replicas with rates in this time, and of this one. */
  readonly replicas: readonly string[]
  /** The name of the replica that answers. */
  readonly self: string
  /**
   * `memory`: no Redis is configured, so only this replica is known. `unreachable`: in some of the intervals Redis was
   * unreachable, and they have the rates of this replica only.
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
