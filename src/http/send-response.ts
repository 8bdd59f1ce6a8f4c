/** Sends the response of the pipeline, in the form that the client accepts. */
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EdgeResponse } from '../core/response.ts'
import { represent } from '../representation/represent.ts'

/** Sends a response. A raw file keeps its own type and is passed through unchanged. */
export async function sendResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  response: EdgeResponse,
): Promise<FastifyReply> {
  const { edge } = request
  edge.nextStage('respond')
  if (response.kind === 'file') {
    if (response.length !== undefined) reply.header('content-length', response.length)
    else edge.bytesSentBefore = request.raw.socket.bytesWritten
    return reply.code(response.status).type(response.type).send(response.stream)
  }
  const { status, headers, bytes } = await represent(response, request.headers, edge.flags)
  reply.code(status)
  addHeaders(reply, headers)
  await endOfTurn()
  return reply.send(bytes)
}

let turn: Promise<void> | undefined

/**
 * Resolves at the end of this turn of the event loop. The responses of a turn are written one after the other: the code and the
 * data of the kernel's write stay in the caches of the processor, and a client that the first response wakes up is still awake
 * for the others.
 */
function endOfTurn(): Promise<void> {
  turn ??= setImmediate().then(() => {
    turn = undefined
  })
  return turn
}

/** `pairs`: names and values, alternating. */
export function addHeaders(reply: FastifyReply, pairs: readonly string[]): void {
  for (let at = 0; at < pairs.length; at += 2) {
    const [name = '', value = ''] = [pairs[at], pairs[at + 1]]
    // The CORS plugin has set its own Vary before.
    const before = name === 'vary' ? reply.getHeader('vary') : undefined
    reply.header(name, before === undefined ? value : `${before}, ${value}`)
  }
}
