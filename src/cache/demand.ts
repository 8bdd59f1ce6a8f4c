/** How often a stored response is requested, and when in its lifetime it is refreshed. */
import type { StoredRead } from '../core/stored-response.ts'

type Freshness = Pick<StoredRead, 'ttl' | 'fetchTime'>

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

/** Hits in the first half are not counted, so that most hits cost nothing. */
export const COUNTED_SHARE = 0.5

/** Returns the milliseconds for which a response is fresh after its arrival. */
function lifetimeAfterArrival({ ttl, fetchTime }: Freshness): number {
  return ttl - fetchTime
}

/** The hits of one stored response in this lifetime and in the one before. */
export class Demand {
  /** A refresh ahead of the end of this lifetime has started. */
  isRefreshed = false
  hits = 0
  /** When this lifetime ends, in milliseconds of the clock. */
  expiresAt = Number.NEGATIVE_INFINITY
  /** Milliseconds for which hits are counted. */
  #countedTime = 0
  #previousHits = 0
  #previousTime = 0

  constructor(stored: Freshness, end: number) {
    this.begin(stored, end)
  }

  /** Whether a response whose lifetime has this end belongs to this lifetime. A lifetime is replaced after its first half at the earliest. */
  isOf(end: number): boolean {
    return end - this.expiresAt < this.#countedTime / 2
  }

  begin(stored: Freshness, end: number): void {
    // A response that was not requested for a while has to earn its refresh again.
    const isNext = end - this.expiresAt <= 2 * stored.ttl
    this.#previousHits = isNext ? this.hits : 0
    this.#previousTime = isNext ? this.#countedTime : 0
    this.hits = 0
    this.isRefreshed = false
    this.expiresAt = end
    this.#countedTime = lifetimeAfterArrival(stored) * COUNTED_SHARE
  }

  /** Whether there are this many hits in one of the two lifetimes. */
  hasHits(count: number): boolean {
    return this.hits >= count || this.#previousHits >= count
  }

  /** Returns the hits per second. */
  rate(now: number): number {
    const elapsed = this.#countedTime - Math.max(0, this.expiresAt - now)
    // The first hits of a lifetime say little: a single one after a millisecond is no thousand per second.
    const time = this.#previousTime + Math.max(elapsed, this.#countedTime / 4)
    return (1000 * (this.#previousHits + this.hits)) / Math.max(1, time)
  }
}
