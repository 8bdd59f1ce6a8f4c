/**
 * What depends on the code of Node's HTTP server and not on its documentation. `node-internals.test.ts` fails when a
 * version of Node does it in another way.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Runs `close` where Node's server would destroy the socket: after a response that closes the connection, it calls
 * `destroySoon`. The kernel would reset the connection then if the client still sends, and the client could lose the response.
 */
export function replaceClose(socket: Socket, close: (socket: Socket) => void): void {
  socket.destroySoon = () => close(socket)
}

/**
 * Continues a response that waits for a slow client on a connection with CONNECT: Node's server has removed its listener for
 * `drain` before it emitted `connect`.
 */
export function continueAfterDrain(socket: Socket, current: () => ServerResponse | undefined): void {
  socket.on('drain', () => current()?.emit('drain'))
}
