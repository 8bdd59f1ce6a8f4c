/**
 * Closing without cutting off the last answer. A socket that is closed while bytes of the client are still
 * unread makes the kernel send a reset, and the client may lose the answer that it was about to read (RFC 9112,
 * section 9.6). So the write side is closed first, and what still comes is read and dropped for a while.
 */
import type { Socket } from 'node:net'

const LONGEST = 2000

/** Ends the write side now, the whole connection when the client has ended too, or after two seconds. */
export function linger(socket: Socket): void {
  if (socket.destroyed || socket.writableEnded) return
  socket.end()
  socket.resume()
  const limit = setTimeout(() => socket.destroy(), LONGEST)
  socket.once('close', () => clearTimeout(limit))
}

/** Node's HTTP server ends connections by `destroySoon`; on this socket that means to linger. */
export function lingerOnClose(socket: Socket): void {
  socket.destroySoon = () => linger(socket)
}
