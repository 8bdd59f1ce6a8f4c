/** Enough for a process start on a machine whose cores are busy. Only a test that fails waits this long. */
const PATIENCE_MS = 30_000
const POLL_MS = 10

/** Resolves as soon as the condition holds. Rejects after `patience` milliseconds. */
export async function eventually(holds: () => boolean | Promise<boolean>, patience = PATIENCE_MS): Promise<void> {
  const begin = performance.now()
  while (!(await holds())) {
    if (performance.now() - begin > patience) throw new Error(`the condition did not hold within ${patience} ms`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
