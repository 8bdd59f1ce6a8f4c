/** The way in which Node's server passes the chunks of a connection to its parser. */
import type { Socket } from 'node:net'

const CR = 13
const LF = 10

/** The listener for data that Node's server has attached to the socket. */
export type ParseChunk = (this: Socket, chunk: Buffer) => void

/**
 * Returns the listener by which Node's server passes chunks to its parser, and `undefined` if it is not the only one: then
 * this version of Node works in another way, and the connection is left to it.
 */
export function chunkParserOf(socket: Socket): ParseChunk | undefined {
  const [listener, another] = socket.listeners('data')
  const isKnown = listener?.name === 'bound socketOnData' && another === undefined
  return isKnown ? (listener as ParseChunk) : undefined
}

export function endsWithEmptyLine(chunk: Buffer): boolean {
  const { length } = chunk
  return chunk[length - 1] === LF && chunk[length - 2] === CR && chunk[length - 3] === LF && chunk[length - 4] === CR
}
