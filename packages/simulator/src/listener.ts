/** A server on 127.0.0.1 that can be closed and reopened on the same port. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'

/** Above all ports that `fetch` refuses, of which 10080 is the last (Fetch standard, "bad port"). */
const MIN_PORT = 10_081
const MAX_PORT = 32_000
const MAX_PORTS_TRIED = 100
const REOPEN_PAUSE_MS = 50
const MAX_REOPEN_ATTEMPTS = 200

export interface Listener {
  readonly url: string
  /** No effect if it is open. */
  open(): Promise<void>
  /** Closes all connections; new ones are refused. No effect if it is closed. */
  shut(): Promise<void>
}

export interface Tls {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

export interface ListenOptions {
  readonly tls?: Tls
  /** 0 or absent: a free port. */
  readonly port?: number
}

/**
 * Returns a port that may be taken. It is below the range from which systems give ports to outgoing connections and to servers
 * that ask for any: while a server is down, no other process gets its port.
 */
export const randomPort = (): number => randomInt(MIN_PORT, MAX_PORT)

/** Listens on a port. Idle connections are closed after five seconds, as on a real node. */
export async function listen(serve: RequestListener, { tls, port: wanted = 0 }: ListenOptions = {}): Promise<Listener> {
  const server = tls === undefined ? createHttp(serve) : createHttps({ ...tls }, serve)
  server.keepAliveTimeout = 5000
  // A client may disconnect in the middle of a request; that is no error.
  server.on('clientError', (_, socket) => socket.destroy())
  const start = async (port: number): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  /** Tries the ports that `portOf` returns until one is free. `pause`: milliseconds between two attempts. */
  const startOnFree = async (portOf: () => number, attempts: number, pause: number): Promise<void> => {
    for (let left = attempts; ; left--) {
      try {
        return await start(portOf())
      } catch (fault) {
        const isTaken = fault instanceof Error && 'code' in fault && fault.code === 'EADDRINUSE'
        if (!isTaken || left <= 1) throw fault
        await sleep(pause)
      }
    }
  }
  if (wanted === 0) await startOnFree(randomPort, MAX_PORTS_TRIED, 0)
  else await start(wanted)
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    open: async () => {
      if (!server.listening) await startOnFree(() => port, MAX_REOPEN_ATTEMPTS, REOPEN_PAUSE_MS)
    },
    shut: () =>
      new Promise((resolve) => {
        if (!server.listening) return resolve()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
