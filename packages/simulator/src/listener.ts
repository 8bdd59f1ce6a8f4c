/** A server on 127.0.0.1 that can be closed and reopened on the same port. */
import { once } from 'node:events'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from './free-port.ts'

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

/** Listens on a port. Idle connections are closed after five seconds, as on a real node. */
export async function listen(serve: RequestListener, { tls, port: wanted = 0 }: ListenOptions = {}): Promise<Listener> {
  const server = tls === undefined ? createHttp(serve) : createHttps({ ...tls }, serve)
  server.keepAliveTimeout = 5000
  // A client may disconnect in the middle of a request; that is no error.
  server.on('clientError', (_, socket) => socket.destroy())
  const port = wanted === 0 ? await freePort() : wanted
  const start = async (): Promise<void> => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await start()
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    async open() {
      for (let left = MAX_REOPEN_ATTEMPTS; !server.listening; left--) {
        try {
          await start()
        } catch (fault) {
          const isTaken = fault instanceof Error && 'code' in fault && fault.code === 'EADDRINUSE'
          if (!isTaken || left <= 1) throw fault
          await sleep(REOPEN_PAUSE_MS)
        }
      }
    },
    shut: () =>
      new Promise((resolve) => {
        if (!server.listening) return resolve()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
