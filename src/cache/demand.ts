/** How often stored responses are requested: their hits in the second half of each freshness lifetime. */
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { StoredResponse } from '../core/response.ts'

type Freshness = Pick<StoredResponse, 'age' | 'ttl' | 'fetchTime'>

/** Hits in the first half are not counted, so that most hits cost nothing. */
const COUNTED_SHARE = 0.5

/** Returns the milliseconds for which a response is fresh after its arrival. */
export function lifetimeAfterArrival({ ttl, fetchTime }: Freshness): number {
  return ttl - fetchTime
}

/** Whether a fresh response is in the second half of its lifetime. */
export function isCounted(stored: Freshness): boolean {
  return stored.ttl - stored.age <= lifetimeAfterArrival(stored) * COUNTED_SHARE
}

/** The hits of one stored response in this lifetime and in the one before. */
export class Demand {
  /** A refresh ahead of the end of this lifetime has started. */
  isRefreshed = false
  hits = 0
  /** When this lifetime ends, in milliseconds of the clock. */
  expiresAt: number
  /** Milliseconds for which hits are counted. */
  #countedTime: number
  #previousHits = 0
  #previousTime = 0

  constructor(stored: Freshness, now: number) {
    this.expiresAt = endOf(stored, now)
    this.#countedTime = lifetimeAfterArrival(stored) * COUNTED_SHARE
  }

  /** Whether a response belongs to this lifetime. A lifetime is replaced after its first half at the earliest. */
  isOf(stored: Freshness, now: number): boolean {
    return endOf(stored, now) - this.expiresAt < this.#countedTime / 2
  }

  begin(stored: Freshness, now: number): void {
    const end = endOf(stored, now)
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

function endOf({ ttl, age }: Freshness, now: number): number {
  return now + ttl - age
}

export class Demands {
  readonly #demands = new RecentlyUsed<Demand>(MAX_IN_USE)

  /** Whether a response has this many hits in the second half of its lifetime, which may be over. */
  hasHits(key: string, stored: Freshness, now: number, count: number): boolean {
    const demand = this.#demands.get(key)
    return demand !== undefined && demand.hits >= count && demand.isOf(stored, now)
  }

  /** Counts a hit of a response for which `isCounted` is true. `now`: milliseconds, monotonic. */
  count(key: string, stored: Freshness, now: number): Demand {
    let demand = this.#demands.get(key)
    if (demand === undefined) {
      demand = new Demand(stored, now)
      this.#demands.set(key, demand)
    } else if (!demand.isOf(stored, now)) demand.begin(stored, now)
    demand.hits += 1
    return demand
  }
}
