/** Enough for a process start on a machine whose cores are busy. Only a test that fails waits this long. */
const PATIENCE_MS = 30_000
/** A condition is checked again after a tenth of the time waited so far, so that long waits leave the cores to other tests. */
const MIN_POLL_MS = 10
const MAX_POLL_MS = 100

/** Resolves when the condition holds. Rejects after `patience` milliseconds. */
export async function eventually(holds: () => boolean | Promise<boolean>, patience = PATIENCE_MS): Promise<void> {
  const begin = performance.now()
  while (!(await holds())) {
    const waited = performance.now() - begin
    if (waited > patience) throw new Error(`the condition did not hold within ${patience} ms`)
    const pollMs = Math.min(Math.max(waited / 10, MIN_POLL_MS), MAX_POLL_MS)
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}
