/**
 * Graceful shutdown without a connection reset and without a 503. Fastify's own close waits for idle connections,
 * answers 503 or resets, so the servers are drained here first.
 */
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import type { Listener } from './listener.ts'

export interface DrainOptions {
  /** Milliseconds in which load balancers see that this replica is not ready. Requests are still served. */
  readonly delay: number
  /** Milliseconds, from the beginning, after which open connections are closed. */
  readonly limit: number
  /** Other processes accept the connections that arrive at the port from now on. */
  readonly isPortShared?: boolean
}

const CLOSE_IDLE_INTERVAL_MS = 100
/** Without a new connection for this long, no more are expected. */
const QUIET_MS = 100
/** Turns of the event loop without a new connection after which this process has accepted all. */
const QUIET_TURNS = 3
/** The longest time that requests wait for the port to close. */
const MAX_PAUSE_MS = 3000

/** Resolves when the last connection is closed: `true` if all requests ended by themselves, `false` if the limit closed some. */
export async function drain(listener: Listener, { delay, limit, isPortShared }: DrainOptions): Promise<boolean> {
  const end = performance.now() + limit
  listener.announceClose()
  const isQuiet = watchNewConnections(listener)
  await wait(Math.min(delay, limit))
  if (!isPortShared && !(await isQuiet())) await pauseUntil(isQuiet, listener)
  const closed = listener.closePorts().then(() => true)
  listener.resume()

  while (performance.now() < end) {
    listener.closeIdle()
    if (await Promise.race([closed, wait(CLOSE_IDLE_INTERVAL_MS, false)])) return true
  }
  listener.closeAll()
  await closed
  return false
}

/**
 * Connections that the kernel has accepted and this process has not (it accepts one in each turn of the event loop) are
 * reset when the port closes. New connections now come from clients whose last response closed their connection. So
 * requests are paused until none arrive; they are served once the port is closed.
 */
async function pauseUntil(isQuiet: () => Promise<boolean>, listener: Listener): Promise<void> {
  listener.pause()
  const latest = performance.now() + MAX_PAUSE_MS
  while (!(await isQuiet()) && performance.now() < latest) await wait(QUIET_MS / 10)
}

/** Returns a function that checks whether no more new connections arrive. */
function watchNewConnections({ servers }: Listener): () => Promise<boolean> {
  let count = 0
  let last = performance.now() - QUIET_MS
  for (const server of servers) {
    server.on('connection', () => {
      count += 1
      last = performance.now()
    })
  }
  return async () => {
    const before = count
    // The time alone does not show it: in a busy process, a turn of the event loop may last longer than `QUIET_MS`.
    for (let turns = 0; turns < QUIET_TURNS && count === before; turns += 1) await turn()
    return count === before && performance.now() - last >= QUIET_MS
  }
}
