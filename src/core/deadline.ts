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
