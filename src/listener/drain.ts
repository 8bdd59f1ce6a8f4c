/**
 * Leaving without a reset and without a 503. Fastify's own close waits for
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
/** Milliseconds without a new connection after which none is expected any more. */
const QUIET = 100
/** Milliseconds that a request waits for the port to close, at most. */
const HOLD = 3000

/** Resolves when the last connection is closed: `true` if all ended by themselves, `false` if the limit cut some. */
export async function drain(listener: Listener, { notice, limit }: DrainOptions): Promise<boolean> {
  const end = performance.now() + limit
  listener.announceClose()
  const quiet = watchArrivals(listener)
  await wait(Math.min(notice, limit))
  await untilNobodyComes(listener, quiet)
  const closed = Promise.all(listener.servers.map((server) => new Promise((resolve) => server.close(resolve))))
  listener.release()

  const ended = closed.then(() => true)
  while (performance.now() < end) {
    listener.closeIdle()
    if (await Promise.race([ended, wait(STEP, false)])) return true
  }
  for (const server of listener.servers) server.closeAllConnections()
  await closed
  return false
}

/** Gives the milliseconds since the last new connection. */
function watchArrivals(listener: Listener): () => number {
  let last = performance.now() - QUIET
  for (const server of listener.servers) {
    server.on('connection', () => {
      last = performance.now()
    })
  }
  return () => performance.now() - last
}

/**
 * Connections that the kernel has taken but this process has not yet (one for each turn of the event loop) are
 * reset when the port closes. Those that still come are clients whose answer has just closed their connection.
 * So answers are held back until nobody comes any more, the port closes, and then the answers go out.
 */
async function untilNobodyComes(listener: Listener, quiet: () => number): Promise<void> {
  if (quiet() >= QUIET) return
  listener.hold()
  const latest = performance.now() + HOLD
  while (quiet() < QUIET && performance.now() < latest) await wait(QUIET / 10)
}
