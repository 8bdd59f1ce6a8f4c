/** When in its lifetime a response is refreshed, and from when its hits count. */
import type { StoredRead } from '../core/stored-response.ts'

/** A refresh starts when the time that is left is this multiple of the fetch time: the fetch time varies. */
const FETCH_TIMES_AHEAD = 1.5
/** Shares of the lifetime after arrival between which a refresh starts. */
const MIN_SHARE_AHEAD = 0.2
const MAX_SHARE_AHEAD = 0.5

/** Returns the milliseconds before the end of its lifetime from which a response is refreshed. */
export function refreshWindow(stored: Freshness): number {
  const lifetime = lifetimeAfterArrival(stored)
  const ahead = Math.max(stored.fetchTime * FETCH_TIMES_AHEAD, lifetime * MIN_SHARE_AHEAD)
  return Math.min(ahead, lifetime * MAX_SHARE_AHEAD)
}

export type Freshness = Pick<StoredRead, 'ttl' | 'fetchTime'>

/** Hits in the first half are not counted, so that most hits cost nothing. */
export const COUNTED_SHARE = 0.5

/** Returns the milliseconds for which a response is fresh after its arrival. */
export function lifetimeAfterArrival({ ttl, fetchTime }: Freshness): number {
  return ttl - fetchTime
}
