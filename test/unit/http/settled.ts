/** Shows when a server has done all that it can with what a client has sent. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Observes the connections of these servers from now on. Returns whether the server has received all that the client has
 * written and has answered as far as it can, and the client has received the responses; true for a closed connection.
 */
export function observeConnections(servers: readonly Pick<Server, 'on'>[]): (client: Socket) => boolean {
  const sockets = new Map<number | undefined, Socket>()
  const pending = new Map<Socket, Set<IncomingMessage>>()
  const observe = (request: IncomingMessage, response: ServerResponse): void => {
    const requests = pending.get(request.socket) ?? new Set()
    pending.set(request.socket, requests.add(request))
    response.once('close', () => requests.delete(request))
  }
  for (const server of servers) {
    server.on('connection', (socket: Socket) => {
      const { remotePort } = socket
      sockets.set(remotePort, socket)
      socket.once('close', () => {
        pending.delete(socket)
        // The port may be used again.
        if (sockets.get(remotePort) === socket) sockets.delete(remotePort)
      })
    })
    server.on('request', observe)
    server.on('checkContinue', observe)
  }
  return (client) => {
    const socket = sockets.get(client.localPort)
    if (client.destroyed || socket === undefined) return client.destroyed
    // A request may wait for the rest of its body.
    const isAnswered = [...(pending.get(socket) ?? [])].every(({ complete }) => !complete)
    const isSent = socket.writableLength === 0 && socket.bytesWritten === client.bytesRead
    return isAnswered && isSent && socket.bytesRead === client.bytesWritten
  }
}
