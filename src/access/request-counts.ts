/**
 * Requests per window, counted for all replicas without a round trip for each request. A replica counts on its own and
 * reports a key in batches once it has a quarter of its share of the limit. Below that, a key costs Redis nothing, and
 * can exceed the limit by a quarter at most.
 */
import type { Counters } from '../core/counters.ts'
import { RecentlyUsed } from '../core/recently-used.ts'
import type { AccessOptions, RateLimit } from './access.ts'

/** Counts one request of a key in a window of `window` milliseconds. It must not wait: it runs before each response. */
export type CountRequest = (key: string, window: number, max: number) => RequestCount

export interface RequestCount {
  /** Requests in this window, over all replicas. */
  readonly count: number
  /** Milliseconds until the window ends. */
  readonly ends: number
}

/** Requests per second that cost, from one address, as a multiple of the limit per caller. */
const CALLERS_PER_ADDRESS = 10
const SECOND_MS = 1000

interface LimitSettings {
  readonly access: {
    readonly limits: {
      readonly failedLogins: number
      readonly hitsPerSecond: number
      readonly requestsPerSecond: number
    }
  }
}

/** Returns the limits of callers and addresses. `settings` returns those in use. */
export function limitsOf(settings: () => LimitSettings): AccessOptions['limits'] {
  const perSecond = (max: () => number): RateLimit => ({ windowMs: SECOND_MS, max })
  return {
    failedLogins: () => settings().access.limits.failedLogins,
    // A request that costs counts as well, so this limit is never below the other one.
    hitsPerCaller: perSecond(() => {
      const { hitsPerSecond, requestsPerSecond } = settings().access.limits
      return Math.max(hitsPerSecond, requestsPerSecond)
    }),
    perCaller: perSecond(() => settings().access.limits.requestsPerSecond),
    perAddress: perSecond(() => settings().access.limits.requestsPerSecond * CALLERS_PER_ADDRESS),
  }
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

/** `elapsed`: milliseconds of a monotonic clock. */
export function createRequestCounts(counters: Counters, elapsed = () => performance.now()): CountRequest {
  // By length first, so that no key must be built from both for each request.
  const windowsByLength = new Map<number, RecentlyUsed<Window>>()
  const due = new Set<Window>()
  let isScheduled = false

  async function report(window: Window): Promise<void> {
    const { key, length, unreported } = window
    if (window.endsAt <= elapsed()) return
    const name = `window:${length}:${counters.digest(key)}`
    const { count, left, isShared } = await counters.update([name], (texts, { now, isShared }) => {
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
    window.endsAt = elapsed() + left
  }

  async function reportAll(): Promise<void> {
    const windows = [...due]
    due.clear()
    await Promise.all(windows.map(report))
    isScheduled = false
    if (due.size > 0) schedule()
  }
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setTimeout(() => void reportAll(), BATCH_DELAY_MS).unref()
  }

  return (key, length, limit) => {
    const now = elapsed()
    let windows = windowsByLength.get(length)
    if (windows === undefined) {
      windows = new RecentlyUsed(MAX_KEYS_PER_GENERATION)
      windowsByLength.set(length, windows)
    }
    let window = windows.get(key)
    if (window === undefined || window.endsAt <= now) {
      window = { key, length, endsAt: now + length, own: 0, shared: 0, unreported: 0 }
      windows.set(key, window)
    }
    window.own += 1
    window.unreported += 1
    const { replicas } = counters
    if (replicas > 1 && window.own >= (limit / replicas) * REPORTED_SHARE) {
      due.add(window)
      schedule()
    }
    // While Redis is unreachable, each replica assumes that the others receive as many requests.
    const count = counters.isReachable ? window.shared + window.unreported : window.own * replicas
    return { count, ends: window.endsAt - now }
  }
}
