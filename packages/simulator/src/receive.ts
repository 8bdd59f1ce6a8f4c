/** Receives a request at a simulated node of either layout, with the fault that is set for it. */
import type { IncomingMessage } from 'node:http'
import { readBytes } from './bodies.ts'
import type { Fault, FaultTable } from './faults.ts'
import type { SeenRequest } from './model.ts'
import { wait } from './wait.ts'

export interface Receiver {
  readonly node: { readonly name: string }
  readonly cluster: { readonly faults: Pick<FaultTable, 'strike'> }
  /** Called for each request as soon as its headers are complete. */
  see(request: SeenRequest): void
}

export interface Received {
  readonly bytes: Buffer
  readonly fault: Fault
}

/** Resolves when the node begins to answer; `undefined`: by its fault it never does. */
export async function receive(receiver: Receiver, request: IncomingMessage): Promise<Received | undefined> {
  const { method = 'GET', url = '/', headers } = request
  const seen: SeenRequest = { node: receiver.node.name, at: Date.now(), method, url, headers, body: '' }
  receiver.see(seen)
  const bytes = await readBytes(request)
  seen.body = bytes.toString('utf8')
  const fault = receiver.cluster.faults.strike(seen)
  if (fault.delay !== undefined) await wait(fault.delay)
  if (fault.busyUntil !== undefined) await fault.busyUntil
  if (fault.stall === true) return undefined
  if (fault.reset === true) {
    request.socket.resetAndDestroy()
    return undefined
  }
  return { bytes, fault }
}
