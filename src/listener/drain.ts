/**
 * Graceful shutdown without a connection reset and without a 503. Fastify's own close waits for idle connections,
 * answers 503 or resets, so the servers are drained here first.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import type { Connection } from './connection.ts'

export interface DrainingOptions {
  /** Milliseconds in which load balancers see that this replica is not ready. Requests are still served. */
  readonly delay: number
  /** Milliseconds, from the beginning, after which open connections are closed. */
  readonly limit: number
}

const CLOSE_IDLE_INTERVAL_MS = 100
/** Without a new connection for this long, no more are expected. */
const QUIET_MS = 100
/** Turns of the event loop without a new connection after which this process has accepted all. */
const QUIET_TURNS = 3
/** The longest time that requests wait for the port to close. */
const MAX_PAUSE_MS = 3000

/** A client that sends a request pauses for less. */
const STALLED_MS = 2000

/** The error with which Node reports a request that was not received in time. */
class StalledRequest extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT'
}

export class Draining {
  isRunning = false
  readonly #servers: readonly Server[]
  readonly #connections: ReadonlyMap<unknown, Connection>
  /** Requests that wait for the port to close; `undefined`: none has to wait. */
  #paused: (() => void)[] | undefined

  constructor(servers: readonly Server[], connections: ReadonlyMap<unknown, Connection>) {
    this.#servers = servers
    this.#connections = connections
  }

  /** Calls the handler of a request that arrives during the drain. Its response closes its connection. */
  handle(request: IncomingMessage, response: ServerResponse, handle: RequestListener): void {
    closeAfter(response)
    if (this.#paused) this.#paused.push(() => handle(request, response))
    else handle(request, response)
  }

  /** Resolves when the last connection is closed: `true` if all requests ended by themselves, `false` if the limit closed some. */
  async run({ delay, limit }: DrainingOptions): Promise<boolean> {
    const end = performance.now() + limit
    this.isRunning = true
    for (const { current } of this.#connections.values()) if (current) closeAfter(current.response)
    const isQuiet = this.#watchNewConnections()
    await wait(Math.min(delay, limit))
    if (!(await isQuiet())) await this.#pauseUntil(isQuiet)
    const closed = this.#closePorts().then(() => true)
    for (const start of this.#paused ?? []) start()
    this.#paused = undefined

    const rejectStalled = this.#watchStalled()
    while (performance.now() < end) {
      this.#closeIdle()
      rejectStalled()
      if (await Promise.race([closed, wait(CLOSE_IDLE_INTERVAL_MS, false)])) return true
    }
    // The method of Node's server would leave those with CONNECT open.
    for (const { socket } of this.#connections.values()) socket.destroy()
    await closed
    return false
  }

  /** Returns a function that checks whether no more new connections arrive. */
  #watchNewConnections(): () => Promise<boolean> {
    let count = 0
    let last = performance.now() - QUIET_MS
    for (const server of this.#servers) {
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

  /**
   * Connections that the kernel has accepted and this process has not (it accepts one in each turn of the event loop) are
   * reset when the port closes. New connections now come from clients whose last response closed their connection. So
   * requests are paused until none arrive; they are served once the port is closed.
   */
  async #pauseUntil(isQuiet: () => Promise<boolean>): Promise<void> {
    this.#paused = []
    const latest = performance.now() + MAX_PAUSE_MS
    while (!(await isQuiet()) && performance.now() < latest) await wait(QUIET_MS / 10)
  }

  /**
   * Resolves when the last connection is closed. The method of Node's HTTP server would close connections whose response is
   * not sent completely, and would no longer check the timeouts of the others.
   */
  #closePorts(): Promise<unknown> {
    const close = (server: Server) => new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
    return Promise.all(this.#servers.map(close))
  }

  /**
   * Returns a function that rejects the requests of which nothing has arrived for `STALLED_MS`, as Node's timeouts do later. They
   * have had no effect, and would delay the end to its limit.
   */
  #watchStalled(): () => void {
    const progress = new WeakMap<Connection, { readonly bytes: number; readonly at: number }>()
    return () => {
      for (const connection of this.#connections.values()) {
        const { socket, isBusy, incomplete, current } = connection
        // Bytes that are buffered here were not read by this process: the client has sent more than was needed.
        if (isBusy && (incomplete === undefined || incomplete !== current?.request || incomplete.readableLength > 0))
          continue
        const now = performance.now()
        const last = progress.get(connection)
        if (last?.bytes !== socket.bytesRead) progress.set(connection, { bytes: socket.bytesRead, at: now })
        else if (now - last.at > STALLED_MS) this.#servers[0]?.emit('clientError', new StalledRequest(), socket)
      }
    }
  }

  /** For Node, a connection is idle as soon as its response is complete in memory. So all are left open until it is sent. */
  #closeIdle(): void {
    const isSending = [...this.#connections.values()].some(({ current }) => current?.response.writableEnded)
    if (!isSending) for (const server of this.#servers) server.closeIdleConnections()
  }
}

function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}
