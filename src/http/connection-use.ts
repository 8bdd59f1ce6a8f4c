/** Who always has a request waiting, by the requests of a connection that need a node (`docs/queueing.md`). */
import type { ServerResponse } from 'node:http'
import { Sequences } from './sequences.ts'

/** `connection`: a number that no other connection has; 0: none; the name of a sequence: the connection is new. */
interface ConnectionUse {
  readonly connection: number | string
  /** Requests have followed each other for long. */
  readonly isBulk: boolean
}

const known = new WeakMap<object, number>()
let connections = 0
const sequences = new Sequences()

/**
 * Begins the use of the connection of a request by a caller. It ends with the response. The first request of a connection
 * belongs to `sequence`: some clients open a connection for each request.
 */
export function useConnection(response: ServerResponse | undefined, caller: string, sequence: string): ConnectionUse {
  const { socket } = response ?? {}
  if (!response || !socket) return { connection: 0, isBulk: false }
  const connection = known.get(socket) ?? sequence
  if (connection === sequence) {
    connections += 1
    known.set(socket, connections)
  }
  const { isBulk, end } = sequences.begin(`${caller} ${connection}`, performance.now())
  response.once('close', () => end(performance.now()))
  return { connection, isBulk }
}
