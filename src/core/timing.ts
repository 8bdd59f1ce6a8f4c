import { Cancellation, type CancelSignal } from './cancellation.ts'
import type { Effort } from './request.ts'

/** `wall`: milliseconds since 1970, for times in tokens. `elapsed`: monotonic milliseconds, for durations. */
export interface Clock {
  wall(): number
  elapsed(): number
}

export const systemClock: Clock = { wall: Date.now, elapsed: performance.now.bind(performance) }

/** Seconds by which the clocks of issuers and replicas may differ. */
export const CLOCK_TOLERANCE_S = 5

/** The setting `cluster.limits`, as far as it limits the time of a request. Milliseconds. */
export interface TimeLimits {
  readonly timeout: number
  /** For endpoints that the catalogue marks as slow. */
  readonly slowTimeout: number
}

/** The time of a read for which no client waits, and which may ask each agent. */
const COMPLETE_READ_MS = 600_000

/** Returns the milliseconds that a request may take. */
export function timeLimitOf(
  request: { readonly endpoint: { readonly slow?: true }; readonly effort?: Effort },
  { timeout, slowTimeout }: TimeLimits,
): number {
  const { endpoint, effort } = request
  if (effort === 'complete') return COMPLETE_READ_MS
  return endpoint.slow === true ? slowTimeout : timeout
}

/** When a call ends: at its timeout or when its client disconnects, whichever is first. */
export type Deadline = ReturnType<typeof startDeadline>

/**
 * Starts the time of a call; `timeout` in milliseconds. The signal is aborted with the reason of the client, or when the time
 * is over with the reason that `late` returns (default: an `AbortError`); `fault` says which of the two. The timers of undici are off, since they run up to a second late. `AbortSignal.any` is not used, since
 * Node 20 may collect a composed signal that still has listeners.
 */
export function startDeadline(
  timeout: number | undefined,
  client: CancelSignal | undefined,
  clock: () => number,
  late?: () => unknown,
) {
  const controller = new Cancellation()
  const end = timeout === undefined ? Number.POSITIVE_INFINITY : clock() + timeout
  let hasExpired = false
  const cancel = () => controller.abort(client?.reason)
  const expire = () => {
    hasExpired ||= !controller.signal.aborted
    controller.abort(late?.())
  }
  // If the event loop was blocked, the timer runs before the I/O that is already there: process that first.
  let expiry: NodeJS.Immediate | undefined
  const expireSoon = () => {
    expiry = setImmediate(expire)
  }
  const timer = timeout === undefined ? undefined : setTimeout(expireSoon, timeout)
  if (client?.aborted) cancel()
  else client?.addEventListener('abort', cancel, { once: true })
  return {
    signal: controller.signal,
    /** Returns the milliseconds that are left; Infinity without a timeout. */
    remaining: () => end - clock(),
    /** Returns why the signal was aborted. */
    fault: () => (hasExpired ? 'timeout' : 'cancelled'),
    /** Ends the call now, as if its timeout had passed. */
    expire,
    /** Frees the timer. To be called when the call has ended, including a streamed body. */
    end: (): void => {
      clearTimeout(timer)
      clearImmediate(expiry)
      client?.removeEventListener('abort', cancel)
    },
  }
}

/**
 * Resolves or rejects as `work` does, or resolves with `late` after `ms` milliseconds (Infinity: no limit). With a
 * signal, an abort rejects with its reason. Neither a timer nor a listener outlives the returned promise.
 */
export function withTimeout<T, Late>(
  work: Promise<T>,
  ms: number,
  late: Late,
  signal?: CancelSignal,
): Promise<T | Late> {
  return new Promise((resolve, reject) => {
    // If the event loop was blocked, the timer runs before the I/O that is already there: process that first.
    const timer = Number.isFinite(ms) ? setTimeout(() => setImmediate(finish, late), ms) : undefined
    const abort = () => fail(signal?.reason)
    work.then(finish, fail)
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort, { once: true })

    function finish(value: T | Late) {
      stop()
      resolve(value)
    }
    function fail(reason: unknown) {
      stop()
      reject(reason)
    }
    function stop() {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  })
}

/**
 * Returns a function that takes from a budget of `perSecond()` a second and returns whether there was something left.
 * The budget starts empty and holds that of one second, at least 1: nothing accumulates for a burst. With `burstSeconds`, it
 * starts full and holds the budget of so long a time, also at least 1.
 */
export function rateBudget(perSecond: () => number, clock: () => number, burstSeconds?: number): () => boolean {
  let budget = burstSeconds === undefined ? 0 : Number.POSITIVE_INFINITY
  let last = clock()
  return () => {
    const now = clock()
    const rate = perSecond()
    budget = Math.min(Math.max(1, rate * (burstSeconds ?? 1)), budget + ((now - last) / 1000) * rate)
    last = now
    if (budget < 1) return false
    budget -= 1
    return true
  }
}

/** Milliseconds that a write fence lasts if its replica does not renew it. Both stores use this lease. */
export const WRITE_FENCE_LEASE_MS = 240_000
