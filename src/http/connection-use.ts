/** Who always has a request waiting, by the requests of a connection that need a node (`docs/queueing.md`). */
import type { ServerResponse } from 'node:http'
import { ConnectionCallers } from './connection-callers.ts'

/** `connection`: a number that no other connection has; 0: none. `isBulk`: requests have followed each other for long. */
interface ConnectionUse {
  readonly connection: number
  readonly isBulk: boolean
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
