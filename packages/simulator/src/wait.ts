import { setTimeout as sleep } from 'node:timers/promises'

/** Resolves after some milliseconds. A simulated time may last longer than its cluster, so it keeps no process alive. */
export async function wait(ms: number): Promise<void> {
  await sleep(ms, undefined, { ref: false })
}
