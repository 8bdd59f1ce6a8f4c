/**
 * Requests are counted for all replicas without a round trip for each request. A replica counts on its own and reports
 * a key in batches once it has a quarter of its share of the limit. Below that, a key costs Redis nothing, and can
 * exceed the limit by a quarter at most.
 */
import { type Counters, createCounters } from '../core/counters.ts'
import { RecentlyUsed } from '../core/recently-used.ts'
import { systemClock } from '../core/timing.ts'

/**
 * Counts one request of `name` against the limit `kind`, in a window of `window` milliseconds. It must not wait: it runs
 * before each response.
 */
export type CountRequest = (kind: string, name: string, window: number, max: number) => RequestCount

interface RequestCount {
  /** Requests in this window, over all replicas. */
  readonly count: number
  /** Milliseconds until the window ends. */
  readonly ends: number
}

interface Window {
  readonly key: string
  readonly length: number
  endsAt: number
  /** Requests in this window: at this replica, at all when Redis last answered, and those not reported yet. */
  own: number
  shared: number
  unreported: number
}

/** Milliseconds that a report waits for others. */
const BATCH_DELAY_MS = 40
const MAX_KEYS_PER_GENERATION = 25_000
const REPORTED_SHARE = 0.25

/** Counts the requests of all replicas that share the counters. */
export class SharedRequestCounts {
  readonly #counters: Counters
  /** By kind first, so that no key must be built from both for each request. */
  readonly #windows = new Map<string, RecentlyUsed<Window>>()
  readonly #due = new Set<Window>()
  #isScheduled = false

  constructor(counters: Counters) {
    this.#counters = counters
  }

  readonly count: CountRequest = (kind, name, length, limit) => {
    const now = systemClock.elapsed()
    let windows = this.#windows.get(kind)
    if (windows === undefined) {
      windows = new RecentlyUsed(MAX_KEYS_PER_GENERATION)
      this.#windows.set(kind, windows)
    }
    let window = windows.get(name)
    if (window === undefined || window.endsAt <= now) {
      window = { key: `${kind} ${name}`, length, endsAt: now + length, own: 0, shared: 0, unreported: 0 }
      windows.set(name, window)
    }
    window.own += 1
    window.unreported += 1
    const { replicas, isReachable } = this.#counters
    if (replicas > 1 && window.own >= (limit / replicas) * REPORTED_SHARE) {
      this.#due.add(window)
      this.#schedule()
    }
    // While Redis is unreachable, each replica assumes that the others receive as many requests.
    const count = isReachable ? window.shared + window.unreported : window.own * replicas
    return { count, ends: window.endsAt - now }
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setTimeout(() => void this.#reportAll(), BATCH_DELAY_MS).unref()
  }

  async #reportAll(): Promise<void> {
    const windows = [...this.#due]
    this.#due.clear()
    await Promise.all(windows.map((window) => this.#report(window)))
    this.#isScheduled = false
    if (this.#due.size > 0) this.#schedule()
  }

  async #report(window: Window): Promise<void> {
    const { key, length, unreported } = window
    if (window.endsAt <= systemClock.elapsed()) return
    const name = `window:${length}:${this.#counters.digest(key)}`
    const { count, left, isShared } = await this.#counters.update([name], (texts, { now, isShared }) => {
      const [before = 0, ends = 0] = texts
        .get(name)
        .split(' ')
        .map((part) => Number(part) || 0)
      const isOpen = ends > now
      const count = unreported + (isOpen ? before : 0)
      const left = isOpen ? Math.min(length, ends - now) : length
      if (isShared) texts.set(name, `${count} ${now + left}`, left)
      return { count, left, isShared }
    })
    // If Redis is unreachable, the next request of a key reports it again.
    if (!isShared) return
    window.unreported -= unreported
    window.shared = count
    window.endsAt = systemClock.elapsed() + left
  }
}

/** Returns what counts the requests of this process alone: there is no Redis. */
export function countInProcess(): CountRequest {
  return new SharedRequestCounts(createCounters(systemClock.elapsed)).count
}
