/** Repeats faults until it is stopped. */
export interface FaultLoop {
  /** Ends the present fault, restores the normal state, and resolves then. */
  stop(): Promise<void>
}

/**
 * `pause` returns the milliseconds before a turn. `turn` injects a fault and ends it. The promise of `wait` resolves after
 * the milliseconds, or when the loop is stopped.
 */
export function loopFaults(
  pause: () => number,
  turn: (wait: (milliseconds: number) => Promise<void>) => Promise<void>,
): FaultLoop {
  const stopped = new AbortController()
  const { signal } = stopped
  const wait = (milliseconds: number): Promise<void> =>
    new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, milliseconds)
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
    })
  const running = (async () => {
    for (;;) {
      await wait(pause())
      if (signal.aborted) return
      await turn(wait)
    }
  })()
  return {
    stop: () => {
      stopped.abort()
      return running
    },
  }
}
