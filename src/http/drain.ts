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
/** How long arrivals may delay the closing at least, however short the notice. */
const LEAST = 1000

/** Resolves when the last connection is closed: `true` if all ended by themselves, `false` if the limit cut some. */
export async function drain(listener: Listener, { notice, limit }: DrainOptions): Promise<boolean> {
  const end = performance.now() + limit
  listener.announceClose()
  const quiet = watchArrivals(listener)
  await wait(Math.min(notice, limit))
  await quiet(Math.min(performance.now() + Math.max(notice, LEAST), end))

  const closed = Promise.all(listener.servers.map((server) => new Promise((resolve) => server.close(resolve)))).then(
    () => true,
  )
  while (performance.now() < end) {
    listener.closeIdle()
    if (await Promise.race([closed, wait(STEP, false)])) return true
  }
  for (const server of listener.servers) server.closeAllConnections()
  await closed
  return false
}

/**
 * Connections that the kernel has taken but this process has not yet (one for each turn of the event loop) are
 * reset when the port closes. So it closes when none has come for a while, or at the latest at `end`.
 */
function watchArrivals(listener: Listener): (end: number) => Promise<void> {
  let last = performance.now()
  for (const server of listener.servers) {
    server.on('connection', () => {
      last = performance.now()
    })
  }
  return async (end) => {
    while (performance.now() < end && performance.now() - last < STEP) await wait(STEP / 4)
  }
}
