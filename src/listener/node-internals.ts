/**
 * What depends on the code of the HTTP server of Node.js and not on its documentation. `node-internals.test.ts` fails when a
 * version of Node does it in another way.
 */
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Runs `close` where Node's server would destroy the socket: after a response that closes the connection, it calls
 * `destroySoon`. The kernel would reset the connection then if the client still sends, and the client could lose the response.
 */
export function replaceClose(socket: Socket, close: (socket: Socket) => void): void {
  socket.destroySoon = () => close(socket)
}

/**
 * Responds to requests whose client has closed its side of the connection: a FIN does not show whether the client is still
 * reading. Node's server would close the other side at once.
 */
export function answerHalfClosed(server: Server): void {
  Object.assign(server, { httpAllowHalfOpen: true })
}

/**
 * Continues a response that waits for a slow client on a connection with CONNECT: Node's server has removed its listener for
 * `drain` before it emitted `connect`.
 */
export function continueAfterDrain(socket: Socket, current: () => ServerResponse | undefined): void {
  socket.on('drain', () => current()?.emit('drain'))
}

/** The head that Node's `writeHead` has made, before and after the id of the request. */
export type WrittenHead = readonly [before: string, after: string]

/** Node sends the text `_header` as it is. */
type WithHead = ServerResponse & { _header: string }

/** Longer bodies are not copied: Node copies a text of up to 16 KiB without an allocation. */
const MAX_TEXT_BYTES = 12 * 1024

export function headOf(response: ServerResponse, id: string): WrittenHead {
  const { _header: head } = response as WithHead
  const at = head.indexOf(id)
  return [head.slice(0, at), head.slice(at + id.length)]
}

/**
 * Sends a response with the head of an earlier one and another id: Node would check and join the same headers again. A short
 * body is in the same text: Node would pass head, body and end to the kernel as three pieces.
 */
export function sendWithHead(response: ServerResponse, [before, after]: WrittenHead, id: string, body?: Buffer): void {
  const isShort = body !== undefined && body.length <= MAX_TEXT_BYTES
  ;(response as WithHead)._header = before + id + after + (isShort ? body.toString('latin1') : '')
  response.end(isShort ? undefined : body)
}
