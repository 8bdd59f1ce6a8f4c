/**
 * Refreshes responses with many hits shortly before they expire, so that no client waits for the fetch. Refreshes use
 * idle capacity of the nodes only. While there is less of it than responses that are due, the refresh that saves clients
 * the most waiting starts first: requests per second times fetch time. And how often a response is requested.
 */

import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { AgedResponse, StoredResponse } from '../core/response.ts'
import type { CachePorts, ReadContext } from './call-nodes.ts'

export interface RefreshAheadOptions {
  /** Refreshes at the same time. */
  readonly maxConcurrent: number
  /** Hits in the second half of a lifetime from which a stored response is hot. */
  readonly minHits: number
  /** Calls `run` once after this number of milliseconds; for tests. */
  readonly runLater?: (run: () => void, ms: number) => void
}

export type RefreshAhead = ReturnType<typeof createRefreshAhead>

interface RefreshAheadPorts extends Pick<CachePorts, 'clock' | 'hasIdleCapacity'> {
  /** Fetches for later requests. Never rejects. */
  readonly refresh: (context: ReadContext) => Promise<void>
}

/** Hits in the second half of a lifetime from which a stored response is hot, unless a test sets another number. */
export const MIN_HITS = 3
/** A refresh starts when the time that is left is this multiple of the fetch time: the fetch time varies. */
const FETCH_TIMES_AHEAD = 1.5
/** Shares of the lifetime after arrival between which a refresh starts. */
const MIN_SHARE_AHEAD = 0.2
const MAX_SHARE_AHEAD = 0.5
/** Responses that are due and wait for idle capacity. With more of them, the least valuable are dropped. */
const MAX_WAITING = 50
/** Between two starts, so that a node counts the first call before its idle capacity is read again. */
const START_INTERVAL_MS = 10

/** Returns the milliseconds before the end of its lifetime from which a response is refreshed. */
export function refreshWindow(stored: Pick<StoredResponse, 'ttl' | 'fetchTime'>): number {
  const lifetime = lifetimeAfterArrival(stored)
  const ahead = Math.max(stored.fetchTime * FETCH_TIMES_AHEAD, lifetime * MIN_SHARE_AHEAD)
  return Math.min(ahead, lifetime * MAX_SHARE_AHEAD)
}

export function createRefreshAhead(
  { maxConcurrent, minHits, runLater = (run, ms) => void setTimeout(run, ms).unref() }: RefreshAheadOptions,
  { clock, hasIdleCapacity, refresh }: RefreshAheadPorts,
) {
  const demands = new RecentlyUsed<Demand>(MAX_IN_USE)
  const waiting = new WaitingRefreshes()
  let running = 0
  let isScheduled = false

  return {
    /** Notes a hit of a fresh response, and starts its refresh if it is due. Returns at once and never throws. */
    onHit: (context: ReadContext, { response, age }: AgedResponse): void => {
      const timeLeft = response.ttl - age
      if (!isCounted(response, timeLeft)) return
      const { key } = context.target
      const now = clock()
      const known = demands.get(key)
      const demand = known ?? new Demand(response, now + timeLeft)
      if (known === undefined) demands.set(key, demand)
      else if (!demand.isOf(now + timeLeft)) demand.begin(response, now + timeLeft)
      demand.hits += 1
      if (demand.isRefreshed || timeLeft > refreshWindow(response) || !demand.hasHits(minHits)) return
      const value = demand.rate(now) * response.fetchTime
      waiting.add({ key, context, demand, expiresAt: demand.expiresAt, value })
      if (!isScheduled) startNext()
    },
    /** Whether a response was requested often in the second half of its lifetime, which may be over. */
    isHot: (key: string, { response, age }: AgedResponse) => {
      const demand = demands.get(key)
      return demand !== undefined && demand.hits >= minHits && demand.isOf(clock() + response.ttl - age)
    },
  }

  function startNext(): void {
    if (running >= maxConcurrent) return
    const next = waiting.take(clock(), ({ request }) => hasIdleCapacity(request))
    if (next !== undefined) start(next)
    if (next !== undefined || waiting.size > 0) scheduleNext()
  }

  function start({ context, demand }: WaitingRefresh): void {
    demand.isRefreshed = true
    running += 1
    void refresh(context).finally(() => {
      running -= 1
      if (!isScheduled) startNext()
    })
  }

  function scheduleNext(): void {
    isScheduled = true
    runLater(() => {
      isScheduled = false
      startNext()
    }, START_INTERVAL_MS)
  }
}

interface WaitingRefresh {
  readonly key: string
  readonly context: ReadContext
  readonly demand: Demand
  /** When the response expires, in milliseconds of the clock. */
  readonly expiresAt: number
  /** Milliseconds that clients would wait, for each second in which the response is missing. */
  readonly value: number
}

/** A bounded set of refreshes that wait for idle capacity. */
class WaitingRefreshes {
  readonly #byKey = new Map<string, WaitingRefresh>()

  get size(): number {
    return this.#byKey.size
  }

  add(refresh: WaitingRefresh): void {
    this.#byKey.set(refresh.key, refresh)
    if (this.#byKey.size <= MAX_WAITING) return
    const [least] = this.#byValue().slice(-1)
    if (least !== undefined) this.#byKey.delete(least.key)
  }

  /** Removes and returns the most valuable one that may start. Those that have expired or were replaced are dropped. */
  take(now: number, mayStart: (context: ReadContext) => boolean): WaitingRefresh | undefined {
    for (const { key, demand, expiresAt } of this.#byKey.values()) {
      if (expiresAt <= now || demand.expiresAt !== expiresAt) this.#byKey.delete(key)
    }
    const next = this.#byValue().find(({ context }) => mayStart(context))
    if (next !== undefined) this.#byKey.delete(next.key)
    return next
  }

  #byValue(): WaitingRefresh[] {
    return [...this.#byKey.values()].sort((a, b) => b.value - a.value)
  }
}

type Freshness = Pick<StoredResponse, 'ttl' | 'fetchTime'>

/** Hits in the first half are not counted, so that most hits cost nothing. */
const COUNTED_SHARE = 0.5

/** Returns the milliseconds for which a response is fresh after its arrival. */
function lifetimeAfterArrival({ ttl, fetchTime }: Freshness): number {
  return ttl - fetchTime
}

/** Whether a fresh response is in the second half of its lifetime. */
function isCounted(stored: Freshness, timeLeft: number): boolean {
  return timeLeft <= lifetimeAfterArrival(stored) * COUNTED_SHARE
}

/** The hits of one stored response in this lifetime and in the one before. */
class Demand {
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
