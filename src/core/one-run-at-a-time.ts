/**
 * Returns a function that runs `work`, which must not reject. Calls during a run share one more run after it: what the work
 * reads may have changed since the first one began. Each call waits for one run that begins after it, however many follow.
 */
export function oneRunAtATime(work: () => Promise<unknown>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  const run = async (): Promise<void> => {
    await work()
    if (next === undefined) running = undefined
  }
  return () => {
    if (running === undefined) {
      running = run()
      return running
    }
    next ??= running.then(() => {
      next = undefined
      running = run()
      return running
    })
    return next
  }
}
