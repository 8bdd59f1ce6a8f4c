/** How old the responses are that this replica serves while no node answers (`cache.outage`). */
import { OUTAGE, WITHOUT_REDIS } from '../core/cache.ts'
import type { RequestEvent } from '../core/events.ts'
import { systemClock } from '../core/timing.ts'

/** Without such a response for this long, none is served any more. */
const RECENT_MS = 10_000

export type ServedInOutage = ReturnType<typeof createServedInOutage>

/** `isOutage`: whether no node can be called. A response may be served for another reason too: Redis is unreachable. */
export function createServedInOutage(isOutage: () => boolean) {
  let latest = Number.NEGATIVE_INFINITY
  /** When the data of the oldest one were fetched, in monotonic milliseconds. */
  let fetchedAt = Number.POSITIVE_INFINITY
  return {
    request: ({ cacheStatus, endedAt, age = 0 }: RequestEvent): void => {
      const detail = cacheStatus?.detail
      if (detail !== OUTAGE && !(detail === WITHOUT_REDIS && isOutage())) return
      if (endedAt - latest > RECENT_MS) fetchedAt = Number.POSITIVE_INFINITY
      latest = endedAt
      fetchedAt = Math.min(fetchedAt, endedAt - age)
    },
    /** Returns the age of the oldest one that was served lately, in milliseconds; `undefined`: none was. */
    oldest: (): number | undefined => {
      const now = systemClock.elapsed()
      return now - latest > RECENT_MS ? undefined : now - fetchedAt
    },
  }
}
