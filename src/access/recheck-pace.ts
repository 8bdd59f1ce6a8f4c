/**
 * How often accepted tokens of the manager's users are checked again. A check costs a call to the master, which answers a
 * limited number per minute. Checks get a share of them. If more tokens are in use than the share can check in time, the
 * time between two checks of a token grows, up to a limit.
 */
import { growingLru } from '../core/recently-used.ts'
import { type Clock, rateBudget, systemClock } from '../core/timing.ts'

/** The share of the calls per minute that checks may use, and while reads wait for these calls. */
const [CHECK_SHARE, BUSY_SHARE] = [1 / 3, 1 / 9]
/** Checks per minute if the node has no limit of calls. */
const UNLIMITED_CHECKS = 600
/** Permits are for this time, so that a pause of all clients is followed by no burst. */
const BURST_SECONDS = 10
const MINUTE_MS = 60_000
/** Series that are counted. */
const MAX_SERIES = 20_000
/** The series in use are counted this often at most, in milliseconds. */
const COUNT_INTERVAL_MS = 1_000
/** A series that is in use is noted at least once between two checks. */
const UNUSED_AFTER_INTERVALS = 1.5

interface RecheckPaceOptions {
  /** `access.tokens.recheck` and `recheckMax`, in milliseconds. With 0, acceptances are not remembered. */
  readonly recheck: () => number
  readonly recheckMax: () => number
  /** The calls per minute that the node answers; 0: no limit. */
  readonly perMinute: () => number
  /** Whether reads wait for the calls per minute. */
  readonly isBusy: () => boolean
  /** Each replica takes its part of the permits. */
  readonly replicas: () => number
  readonly clock?: Pick<Clock, 'elapsed'>
}

export type RecheckPace = ReturnType<typeof createRecheckPace>

export function createRecheckPace(options: RecheckPaceOptions) {
  const { recheck, recheckMax, perMinute, replicas, isBusy, clock = systemClock } = options
  /** When tokens of each series were noted last. */
  const notedAt = growingLru<string, number>(MAX_SERIES)
  let counted = { at: Number.NEGATIVE_INFINITY, interval: 0 }

  const checksPerMs = () => {
    const limit = perMinute()
    return (limit === 0 ? UNLIMITED_CHECKS : limit * (isBusy() ? BUSY_SHARE : CHECK_SHARE)) / MINUTE_MS
  }
  const longest = () => (recheck() === 0 ? 0 : Math.max(recheck(), recheckMax()))
  const intervalFor = (series: number) => Math.min(longest(), Math.max(recheck(), series / checksPerMs()))

  const countSeries = (now: number): number => {
    const before = now - Math.max(MINUTE_MS, UNUSED_AFTER_INTERVALS * counted.interval)
    let count = 0
    for (const [series, at] of [...notedAt.entries()]) {
      if (at < before) notedAt.delete(series)
      else count += 1
    }
    return count
  }

  return {
    /** Returns the milliseconds after which an acceptance ends. */
    longest,
    /** Returns the milliseconds after which an acceptance is checked again, if the calls per minute permit it. */
    interval: () => {
      const now = clock.elapsed()
      if (now - counted.at >= COUNT_INTERVAL_MS) counted = { at: now, interval: intervalFor(countSeries(now)) }
      return Math.min(longest(), Math.max(recheck(), counted.interval))
    },
    isBusy,
    /** Notes that tokens of a series are in use. */
    note: (series: string) => void notedAt.set(series, clock.elapsed()),
    take: rateBudget(() => (1000 * checksPerMs()) / Math.max(1, replicas()), clock.elapsed, BURST_SECONDS),
  }
}
