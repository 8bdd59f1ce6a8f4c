/** How old the responses are that this replica serves while no node answers (`cache.outage`). */
import { OUTAGE } from '../../core/cache.ts'
import type { EventListeners } from '../../core/events.ts'
import { systemClock } from '../../core/timing.ts'

/** Without such a response for this long, none is served any more. */
const RECENT_MS = 10_000

export interface ServedInOutage extends Required<Pick<EventListeners, 'request'>> {
  /** Returns the milliseconds since the oldest one expired that was served lately; `undefined`: none was. */
  oldest(): number | undefined
}

export function createServedInOutage(): ServedInOutage {
  let latest = Number.NEGATIVE_INFINITY
  /** When the oldest one expired, in monotonic milliseconds. */
  let expiredAt = Number.POSITIVE_INFINITY
  return {
    request: ({ cacheStatus, endedAt }) => {
      if (cacheStatus?.detail !== OUTAGE) return
      if (endedAt - latest > RECENT_MS) expiredAt = Number.POSITIVE_INFINITY
      latest = endedAt
      expiredAt = Math.min(expiredAt, endedAt + (cacheStatus.ttl ?? 0))
    },
    oldest: () => {
      const now = systemClock.elapsed()
      return now - latest > RECENT_MS ? undefined : now - expiredAt
    },
  }
}
