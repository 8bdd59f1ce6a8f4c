/**
 * Refreshes responses with many hits shortly before they expire, so that no client waits for the fetch, and at the limit of
 * a node those that are served stale. These refreshes use idle capacity of the nodes only: they wait here and not in the
 * queue of the node, so a client that must wait for the same response sends its own call at once. While there is less
 * capacity than responses that are due, the stale response that is served for the shortest time comes first, then the
 * refresh that saves clients the most waiting: requests per second times fetch time.
 */

import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { AgedResponse } from '../core/stored-response.ts'
import { COUNTED_SHARE, Demand, refreshWindow } from './demand.ts'
import type { CachePorts, ReadContext } from './read-context.ts'

export interface RefreshAheadOptions {
  /** Refreshes at the same time. */
  readonly maxConcurrent: number
  /** Hits in the second half of a lifetime from which a stored response is hot. */
  readonly minHits: number
  /** Calls `run` once after this number of milliseconds; for tests. */
  readonly runLater?: (run: () => void, ms: number) => void
}

interface RefreshAheadPorts extends Pick<CachePorts, 'clock' | 'hasIdleCapacity'> {
  /** Fetches for later requests. Never rejects. */
  readonly refresh: (context: ReadContext) => Promise<void>
  readonly waiting: WaitingRefreshes
}

export const REFRESH_AHEAD: RefreshAheadOptions = { maxConcurrent: 4, minHits: 3 }

/**
 * Responses that are due and wait for idle capacity. With more of them, the least valuable are dropped: a node that answers
 * 300 calls per minute could not refresh more in the longest time for which responses are served stale.
 */
const MAX_WAITING = 150
/** Between two starts, so that a node counts the first call before its idle capacity is read again. */
const START_INTERVAL_MS = 10
/** Reads that a node would answer at once, before it gets refreshes of stale responses. */
const READS_LEFT_TO_CLIENTS = 3
/** Between two looks for idle capacity, while there is none. */
const BUSY_INTERVAL_MS = 40

export class RefreshAhead {
  readonly #options: RefreshAheadOptions
  readonly #ports: RefreshAheadPorts
  readonly #demands = new RecentlyUsed<Demand>(MAX_IN_USE)
  #running = 0
  #isScheduled = false

  constructor(options: RefreshAheadOptions, ports: RefreshAheadPorts) {
    this.#options = options
    this.#ports = ports
  }

  /** Notes a hit of a fresh response, and starts its refresh if it is due. Returns at once and never throws. */
  onHit(context: ReadContext, { response, age }: AgedResponse): void {
    const { waiting, clock } = this.#ports
    const timeLeft = response.ttl - age
    waiting.dropStale(context.target.key)
    // Not in the second half of the lifetime.
    if (timeLeft > (response.ttl - response.fetchTime) * COUNTED_SHARE) return
    const { key } = context.target
    const now = clock()
    const known = this.#demands.get(key)
    const demand = known ?? new Demand(response, now + timeLeft)
    if (known === undefined) this.#demands.set(key, demand)
    else if (!demand.isOf(now + timeLeft)) demand.begin(response, now + timeLeft)
    demand.hits += 1
    if (demand.isRefreshed || timeLeft > refreshWindow(response) || !demand.hasHits(this.#options.minHits)) return
    const value = demand.rate(now) * response.fetchTime
    this.#add({ key, context, demand, expiresAt: demand.expiresAt, value })
  }

  /** Refreshes a response that is served stale for `servedFor` milliseconds, unless that time or another fetch ends first. */
  refreshWhenIdle(context: ReadContext, servedFor: number): void {
    const expiresAt = this.#ports.clock() + servedFor
    this.#add({ key: context.target.key, context, demand: undefined, expiresAt, value: -expiresAt })
  }

  /** Whether a response was requested often in the second half of its lifetime, which may be over. */
  isHot(key: string, { response, age }: AgedResponse): boolean {
    const demand = this.#demands.get(key)
    if (demand === undefined || demand.hits < this.#options.minHits) return false
    return demand.isOf(this.#ports.clock() + response.ttl - age)
  }

  #add(refresh: WaitingRefresh): void {
    this.#ports.waiting.add(refresh)
    this.#startNext()
  }

  #startNext(): void {
    if (this.#isScheduled || this.#running >= this.#options.maxConcurrent) return
    const { waiting, clock, hasIdleCapacity } = this.#ports
    const next = waiting.take(clock(), ({ request }) => hasIdleCapacity(request))
    if (next !== undefined) this.#start(next)
    if (next !== undefined) this.#scheduleNext(START_INTERVAL_MS)
    else if (waiting.size > 0) this.#scheduleNext(BUSY_INTERVAL_MS)
  }

  #start({ context, demand }: WaitingRefresh): void {
    if (demand !== undefined) demand.isRefreshed = true
    this.#running += 1
    void this.#ports.refresh(context).finally(() => {
      this.#running -= 1
      this.#startNext()
    })
  }

  #scheduleNext(ms: number): void {
    const { runLater = (run, ms) => void setTimeout(run, ms).unref() } = this.#options
    this.#isScheduled = true
    runLater(() => {
      this.#isScheduled = false
      this.#startNext()
    }, ms)
  }
}

interface WaitingRefresh {
  readonly key: string
  readonly context: ReadContext
  /** `undefined`: the response is served stale. */
  readonly demand: Demand | undefined
  /** When the response is not served any more, or a fresh one expires, in milliseconds of the clock. */
  readonly expiresAt: number
  /** Of a fresh response: milliseconds that clients would wait, for each second in which the response is missing. */
  readonly value: number
}

/** A bounded set of refreshes that wait for idle capacity. */
export class WaitingRefreshes {
  readonly #byKey = new Map<string, WaitingRefresh>()
  #stale = 0

  get size(): number {
    return this.#byKey.size
  }

  /** Reads that a refresh of a stale response leaves to others: to those that wait before it, and to the next clients. */
  get others(): number {
    return this.#stale + READS_LEFT_TO_CLIENTS
  }

  add(refresh: WaitingRefresh): void {
    this.#delete(refresh.key)
    this.#byKey.set(refresh.key, refresh)
    if (refresh.demand === undefined) this.#stale += 1
    if (this.#byKey.size <= MAX_WAITING) return
    const [least] = this.#byValue().slice(-1)
    if (least !== undefined) this.#delete(least.key)
  }

  /** To be called for a fresh response. */
  dropStale(key: string): void {
    if (this.#stale > 0 && this.#byKey.get(key)?.demand === undefined) this.#delete(key)
  }

  /** Removes and returns the most valuable one that may start. Those that have expired or were replaced are dropped. */
  take(now: number, mayStart: (context: ReadContext) => boolean): WaitingRefresh | undefined {
    for (const { key, demand, expiresAt } of this.#byKey.values()) {
      if (expiresAt <= now || (demand ?? { expiresAt }).expiresAt !== expiresAt) this.#delete(key)
    }
    const next = this.#byValue().find(({ context }) => mayStart(context))
    if (next !== undefined) this.#delete(next.key)
    return next
  }

  #delete(key: string): void {
    const refresh = this.#byKey.get(key)
    if (refresh !== undefined && refresh.demand === undefined) this.#stale -= 1
    this.#byKey.delete(key)
  }

  #byValue(): WaitingRefresh[] {
    const rank = ({ demand }: WaitingRefresh) => (demand === undefined ? 0 : 1)
    return [...this.#byKey.values()].sort((a, b) => rank(a) - rank(b) || b.value - a.value)
  }
}
