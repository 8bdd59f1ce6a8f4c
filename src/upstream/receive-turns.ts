/**
 * Distributes receiving over turns of the event loop. Many nodes may respond at once, and reading everything that the
 * system has received from them takes about 2 ms for each megabyte.
 */
import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'

/** Further chunks are read in later turns. The last chunk of a turn may exceed this. */
const MAX_BYTES_PER_TURN = 2 * 1024 * 1024

/** Sockets whose chunks are read in the next turn, in the order of their attempts to read. */
let waiting = new Set<Socket>()
let bytesInTurn = 0
let isScheduled = false

/** Returns a connector whose connections are read in turns, all connections of the process together. */
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
 * Makes `read` return null, as without data, when the turn has no bytes left, and emits `readable` in a later turn. While
 * its data is not read, the socket stops receiving, as for any slow reader.
 */
function readInTurns(socket: Socket): void {
  const read = socket.read.bind(socket)
  socket.read = (size) => {
    // A read of 0 bytes only starts the socket.
    if (size === 0) return read(0)
    scheduleTurn()
    if (bytesInTurn >= MAX_BYTES_PER_TURN) {
      waiting.add(socket)
      return null
    }
    const chunk: Buffer | null = read(size)
    bytesInTurn += chunk?.length ?? 0
    return chunk
  }
}

function scheduleTurn(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(beginTurn)
}

function beginTurn(): void {
  isScheduled = false
  bytesInTurn = 0
  const sockets = waiting
  waiting = new Set()
  for (const socket of sockets) socket.emit('readable')
}
