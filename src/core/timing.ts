/** Two clocks: `wall` (milliseconds since 1970) for what tokens say, `elapsed` (milliseconds, never stepped) for how long. */
export interface Clock {
  wall(): number
  elapsed(): number
}

export const systemClock: Clock = { wall: () => Date.now(), elapsed: () => performance.now() }

/** When a call must be over: at its own time-out or when its client leaves, whichever comes first. */
export interface Deadline {
  readonly signal: AbortSignal
  /** Milliseconds that are left; Infinity without a time-out. */
  remaining(): number
  /** Why the signal fired. */
  fault(): 'timeout' | 'cancelled'
  /** Frees the timer; to be called when the call is over, streamed body included. */
  end(): void
}

/**
 * Starts the time of a call. undici's own timers are off, since they run up to a second late; and
 * `AbortSignal.any` is not used, since Node 20 may collect a composed signal that still has listeners.
 */
export function startDeadline(timeout: number | undefined, client: AbortSignal, clock: () => number): Deadline {
  const controller = new AbortController()
  const at = timeout === undefined ? Number.POSITIVE_INFINITY : clock() + timeout
  const leave = () => controller.abort('cancelled')
  const timer = timeout === undefined ? undefined : setTimeout(() => controller.abort('timeout'), timeout)
  if (client.aborted) leave()
  else client.addEventListener('abort', leave, { once: true })
  return {
    signal: controller.signal,
    remaining: () => at - clock(),
    fault: () => (controller.signal.reason === 'timeout' ? 'timeout' : 'cancelled'),
    end: () => {
      clearTimeout(timer)
      client.removeEventListener('abort', leave)
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
  signal?: AbortSignal,
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

/** So many turns a second. The bucket begins empty and holds one second, or one turn: nobody saves up for a burst. */
export function rateBudget(perSecond: number, clock: () => number): () => boolean {
  let turns = 0
  let last = clock()
  return () => {
    const now = clock()
    turns = Math.min(Math.max(1, perSecond), turns + ((now - last) / 1000) * perSecond)
    last = now
    if (turns < 1) return false
    turns -= 1
    return true
  }
}
