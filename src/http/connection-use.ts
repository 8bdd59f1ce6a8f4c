/** Who always has a request waiting, by the requests of a connection that need a node (`docs/queueing.md`). */
import type { ServerResponse } from 'node:http'
import { PAUSE_MS } from '../core/node-call.ts'

/** More than a page of a dashboard takes. */
const BULK_AFTER_MS = 5000

/** `connection`: a number that no other connection has; 0: none. `isBulk`: requests have followed each other for long. */
interface ConnectionUse {
  readonly connection: number
  readonly isBulk: boolean
}

/** The requests of one caller on one connection that need a node. */
class CallerUse {
  #requests = 0
  #idleSince = 0
  readonly #busySince: number

  constructor(now: number) {
    this.#busySince = now
  }

  isIdle(now: number): boolean {
    return this.#requests === 0 && now - this.#idleSince >= PAUSE_MS
  }

  /** Returns whether the requests have followed each other for long. */
  begin(now: number): boolean {
    this.#requests += 1
    return now - this.#busySince >= BULK_AFTER_MS
  }

  end(now: number): void {
    this.#requests -= 1
    this.#idleSince = now
  }
}

/** A balancer sends requests of many callers on one connection. */
export class ConnectionCallers {
  readonly #callers = new Map<string, CallerUse>()

  /** Begins a request. `now`: monotonic milliseconds. */
  begin(caller: string, now: number): { readonly isBulk: boolean; readonly end: (now: number) => void } {
    for (const [name, use] of this.#callers) if (use.isIdle(now)) this.#callers.delete(name)
    const use = this.#callers.get(caller) ?? new CallerUse(now)
    this.#callers.set(caller, use)
    return { isBulk: use.begin(now), end: (end) => use.end(end) }
  }
}

const known = new WeakMap<object, { readonly id: number; readonly callers: ConnectionCallers }>()
let connections = 0

/** Begins the use of the connection of a request by a caller. It ends with the response. */
export function useConnection(response: ServerResponse | undefined, caller: string): ConnectionUse {
  const { socket } = response ?? {}
  if (!response || !socket) return { connection: 0, isBulk: false }
  let connection = known.get(socket)
  if (connection === undefined) {
    connections += 1
    connection = { id: connections, callers: new ConnectionCallers() }
    known.set(socket, connection)
  }
  const { isBulk, end } = connection.callers.begin(caller, performance.now())
  response.once('close', () => end(performance.now()))
  return { connection: connection.id, isBulk }
}
