/**
 * A process in place of a node, whose server closes each connection that was idle for five seconds, as that of release 5.0 does.
 * It reports each request with the time for which its connection was idle.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

const NODE_IDLE_MS = 5000

export interface Arrival {
  readonly path: string
  /** Milliseconds since the last response on the connection. Absent: the first request of the connection. */
  readonly idle?: number
}

interface Idle {
  readonly since: number
  readonly timer: NodeJS.Timeout
}

const idles = new Map<Socket, Idle>()

const server = createServer((request, response) => {
  const { socket } = request
  const idle = idles.get(socket)
  clearTimeout(idle?.timer)
  const arrival: Arrival = {
    path: request.url ?? '',
    ...(idle !== undefined && { idle: performance.now() - idle.since }),
  }
  process.send?.(arrival)
  response.once('finish', () => {
    idles.set(socket, { since: performance.now(), timer: setTimeout(() => socket.end(), NODE_IDLE_MS) })
  })
  response.writeHead(200, { 'content-type': 'application/json', ...announcement() }).end('{"error":0,"data":{}}')
})
// Without a time limit, the server of Node.js announces none either.
server.keepAliveTimeout = 0

/** Servers of Python announce no time limit. That of Node.js does, which the v3 layout has. */
function announcement(): Readonly<Record<string, string>> {
  return process.argv[2] === 'announced' ? { 'keep-alive': `timeout=${NODE_IDLE_MS / 1000}` } : {}
}

process.on('disconnect', () => process.exit())
await once(server.listen(0, '127.0.0.1'), 'listening')
process.send?.((server.address() as AddressInfo).port)
