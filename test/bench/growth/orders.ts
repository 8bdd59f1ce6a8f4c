/** The orders to a client process (`client.ts`), and its replies. */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { forkScript } from '../../support/typescript/script.ts'
import { has } from '../load.ts'
import { WrongResponseError } from '../verify.ts'

export interface OpenOrder {
  readonly kind: 'open'
  readonly port: number
  readonly tls: boolean
  readonly connections: number
  /** Of the first request of each connection, for entry 0. */
  readonly authorization: string
}

export interface RunOrder {
  readonly kind: 'run'
  /** Ends after this number of requests, or after this time. */
  readonly requests?: number
  readonly ms?: number
  readonly inFlight: number
  /** Requested are the entries from 0 to this number. */
  readonly entries: number
  readonly authorizations: readonly string[]
  /** Entries and users one after the other; otherwise at random. */
  readonly inTurn?: boolean
  /** A regular expression that `Cache-Status` of each response must match. */
  readonly cacheStatus: string
}

export type Order = OpenOrder | RunOrder | { readonly kind: 'close' }

export interface RunFigures {
  readonly responses: number
  readonly ms: number
  /** Milliseconds between request and response. */
  readonly p50: number
  readonly p99: number
}

export type Reply =
  | ({ readonly ok: true; readonly open: number } & Partial<RunFigures>)
  | { readonly ok: false; readonly fault: string }

/** A client process with open connections. */
export interface Client {
  run(order: Omit<RunOrder, 'kind'>): Promise<RunFigures & { readonly open: number }>
  /** Closes the connections and ends the process. */
  close(): Promise<void>
}

export const HIT = '; hit'
export const ANY = 'manager-edge'

/** Starts a client process on core 1 and opens its connections. Throws if one of them cannot be opened. */
export async function startClient(
  order: Omit<OpenOrder, 'kind' | 'tls'> & { readonly tls?: boolean },
): Promise<Client> {
  const child = forkScript(new URL('./client.ts', import.meta.url), [])
  if (has('taskset')) spawnSync('taskset', ['-a', '-cp', '1', String(child.pid)])
  const opened = await send(child, { kind: 'open', tls: false, ...order })
  if (opened.open !== order.connections) throw new Error(`${opened.open} of ${order.connections} connections are open`)
  return {
    run: async (run) => {
      const { responses = 0, ms = 0, p50 = 0, p99 = 0, open } = await send(child, { kind: 'run', ...run })
      if (responses === 0) throw new WrongResponseError('no responses')
      return { responses, ms, p50, p99, open }
    },
    close: async () => {
      await send(child, { kind: 'close' })
      child.disconnect()
    },
  }
}

/** Throws WrongResponseError if a response was not the expected one. */
function send(child: ChildProcess, order: Order): Promise<Extract<Reply, { ok: true }>> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`the client process ended with ${code}`))
    child.once('exit', onExit)
    child.once('message', (reply: Reply) => {
      child.off('exit', onExit)
      if (reply.ok) resolve(reply)
      else reject(new WrongResponseError(reply.fault))
    })
    child.send(order)
  })
}
