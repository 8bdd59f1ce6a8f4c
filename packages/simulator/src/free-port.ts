/** Ports for servers that stop and start again, of this process and of others beside it. */
import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Above all ports that `fetch` refuses, of which 10080 is the last (Fetch standard, "bad port"). */
const MIN_PORT = 10_081
const MAX_PORT = 32_000

/**
 * Returns a free port of 127.0.0.1. No call in a process that is alive returns the same port again, because a server may start
 * on it later, or stop and start again: the UDP port of the number is the mark, which this process keeps until it ends.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomPort()
    const marked = await mark(port)
    if (marked === undefined) continue
    // A trial takes the port for a moment, so ports with the mark of another server are not tried: it may start just then.
    if (await isFree(port)) return port
    marked.close()
  }
}

/**
 * Returns a port that may be taken. It is below the range from which systems give ports to outgoing connections and to servers
 * that ask for any: while a server is down, no such connection gets its port.
 */
export const randomPort = (): number => randomInt(MIN_PORT, MAX_PORT)

/** Resolves to undefined if the port has its mark already. */
async function mark(port: number): Promise<Socket | undefined> {
  const socket = createSocket('udp4').unref()
  try {
    await once(socket.bind(port, '127.0.0.1'), 'listening')
    return socket
  } catch {
    socket.close()
    return undefined
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
