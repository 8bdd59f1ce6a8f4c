/** How the bytes of a connection to a node are read before undici gets them. */
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { spendTurn, waitForTurn } from '../core/turns.ts'

/** Reading this much takes about a millisecond. */
const BYTES_PER_MS = 512 * 1024
/** What a read is expected to take, before its length is known. */
const READ_MS = 0.1

/**
 * Distributes receiving over turns of the event loop. Many nodes may respond at once, and reading everything that the
 * system has received from them takes about 2 ms for each megabyte. Returns a connector whose connections are read in
 * turns, all connections of the process together.
 */
export function connectInTurns(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result) => {
      const [, socket] = result
      // If the connection fails, there is only the error.
      if (socket) readInTurns(socket)
      callback(...result)
    })
}

/**
 * Makes `read` return null, as without data, when the turn has no time left, and emits `readable` in a later turn. While
 * its data is not read, the socket stops receiving, as for any slow reader.
 */
function readInTurns(socket: Socket): void {
  const read = socket.read.bind(socket)
  let state: 'idle' | 'waiting' | 'due' = 'idle'
  socket.read = (size) => {
    // A read of 0 bytes only starts the socket.
    if (size === 0) return read(0)
    if (state === 'waiting') return null
    const turn = state === 'due' ? undefined : waitForTurn(READ_MS)
    if (turn !== undefined) {
      state = 'waiting'
      void turn.then(() => {
        state = 'due'
        socket.emit('readable')
      })
      return null
    }
    state = 'idle'
    const chunk: Buffer | null = read(size)
    spendTurn((chunk?.length ?? 0) / BYTES_PER_MS - READ_MS)
    return chunk
  }
}
