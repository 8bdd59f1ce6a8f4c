/** The flow of a request, by its kind and its connection. */
import type { ServerResponse } from 'node:http'
import type { ClientFlow } from '../core/node-call.ts'
import { systemClock } from '../core/timing.ts'
import { type KindParts, kindOf, Sequences } from './sequences.ts'

const known = new WeakMap<object, number>()
let connections = 0
const sequences = new Sequences(systemClock.elapsed)

/** Returns the flow of a request of a party. The request is a part of its sequence until its response ends. */
export function flowOf(request: KindParts, party: string, response: ServerResponse | undefined): ClientFlow {
  const { socket } = response ?? {}
  if (!response || !socket) return { party, name: '' }
  const connection = known.get(socket)
  if (connection === undefined) {
    connections += 1
    known.set(socket, connections)
  }
  const { kind, page } = kindOf(request)
  const flow = sequences.begin(party, kind, connection, page)
  // The client may have left already, for example during a lookup in Redis.
  if (response.destroyed) flow.end()
  else response.once('close', flow.end)
  return flow
}
