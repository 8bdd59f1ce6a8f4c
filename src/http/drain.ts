/**
 * Leaving without a reset and without a 503 (promises.md, "Draining, measured"). Fastify's own close waits for
 * idle connections, answers 503 or resets; so the servers are emptied here first.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { Listener } from './listener.ts'

export interface DrainOptions {
  /** Milliseconds in which balancers see that this replica is not ready and take it out; it still serves. */
  readonly notice: number
  /** Milliseconds, from the beginning, after which what is still open is cut. */
  readonly limit: number
}

const STEP = 100

/** Resolves when the last connection is closed: `true` if all ended by themselves, `false` if the limit cut some. */
export async function drain(listener: Listener, { notice, limit }: DrainOptions): Promise<boolean> {
  const end = performance.now() + limit
  listener.announceClose()
  await wait(Math.min(notice, limit))
  const closed = Promise.all(listener.servers.map((server) => new Promise((resolve) => server.close(resolve)))).then(
    () => true,
  )
  for (;;) {
    listener.closeIdle()
    if (await Promise.race([closed, wait(STEP, false)])) return true
    if (performance.now() >= end) break
  }
  for (const server of listener.servers) server.closeAllConnections()
  await closed
  return false
}
