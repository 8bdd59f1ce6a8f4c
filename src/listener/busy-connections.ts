/** Lets a graceful shutdown wait until responses are sent. */
import type { Server } from 'node:http'
import type { PipeliningQueue } from './pipelining-queue.ts'

/**
 * Makes the server close only connections as idle that have sent their response. For Node, a connection is idle as soon as
 * its response is complete in memory: `close` and `closeIdleConnections` would cut off large responses to slow clients.
 */
export function keepBusyConnections(server: Server, queue: Pick<PipeliningQueue, 'busySockets'>): void {
  const closeIdleConnections = server.closeIdleConnections.bind(server)
  // `close` calls this method too.
  server.closeIdleConnections = () => {
    const busy = [...queue.busySockets()]
    for (const socket of busy) socket.destroy = () => socket
    closeIdleConnections()
    // The method of the prototype is in use again.
    for (const socket of busy) Reflect.deleteProperty(socket, 'destroy')
  }
}
