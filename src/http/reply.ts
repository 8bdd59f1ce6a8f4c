/** Sends responses and errors through Fastify. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EdgeError } from '../core/errors.ts'
import type { EdgeResponse } from '../core/response.ts'
import { preferencesOf, represent } from '../representation/represent.ts'
import type { HttpContract } from './contract.ts'
import type { RequestLogger } from './request-log.ts'

/** The `Cache-Control` of everything that no cache may store: secrets, errors, writes. */
export const NO_STORE = 'no-store'

/** Sends a response. A raw file keeps its own type and is passed through unchanged. */
export async function sendResponse(
  request: FastifyRequest,
  reply: FastifyReply,
  response: EdgeResponse,
  compressionMinBytes: number,
): Promise<FastifyReply> {
  const { edge } = request
  edge.nextStage('respond')
  if (response.kind === 'file') {
    if (response.length !== undefined) reply.header('content-length', response.length)
    else edge.bytesSentBefore = request.raw.socket.bytesWritten
    return reply.code(response.status).type(response.type).send(response.stream)
  }
  const preferences = preferencesOf(request.headers, edge.flags, compressionMinBytes)
  const { status, stableHeaders, ownHeaders, bytes } = await represent(response, preferences)
  reply.code(status)
  addHeaders(reply, stableHeaders)
  addHeaders(reply, ownHeaders)
  return reply.send(bytes)
}

/** `pairs`: names and values, alternating. */
export function addHeaders(reply: FastifyReply, pairs: readonly string[]): void {
  for (let at = 0; at < pairs.length; at += 2) addHeader(reply, pairs[at] ?? '', pairs[at + 1] ?? '')
}

/** The CORS plugin has set its own Vary before. */
function addHeader(reply: FastifyReply, name: string, value: string): void {
  const before = name === 'vary' ? reply.getHeader('vary') : undefined
  reply.header(name, before === undefined ? value : `${before}, ${value}`)
}

/** Sends an error of the edge in the form of the contract. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: EdgeError,
  contract: Pick<HttpContract, 'sendError'>,
): FastifyReply {
  const { edge } = request
  edge.nextStage('respond', { error: error.code, ...(error.status >= 500 && { fault: 'error' }) })
  edge.error = error
  reply.code(error.status).header('cache-control', NO_STORE).headers(error.headers)
  return contract.sendError(request, reply, error)
}

/** Turns every error of a handler, a hook or Fastify itself into an error of the contract, in one place. */
export function handleErrors(app: FastifyInstance, contract: HttpContract, log: RequestLogger): void {
  app.setNotFoundHandler((request, reply) => sendError(request, reply, contract.notFound(), contract))
  app.setErrorHandler((thrown: Error & { validation?: unknown }, request, reply) => {
    const error = contract.errorOf(thrown, request)
    // If the client has disconnected, its call was cancelled on purpose. That is no failure to log.
    if (error.status >= 500 && !reply.raw.destroyed) {
      log.warn({ reqId: request.id, code: error.code, err: error.cause }, error.message)
    }
    return sendError(request, reply, error, contract)
  })
}

/** Returns the contract's error for an error of Fastify. Any unexpected error becomes 949, with the original as its cause. */
export function toEdgeError(error: unknown): EdgeError {
  if (error instanceof EdgeError) return error
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new EdgeError(607, '', { cause: error })
  if (code === 'FST_ERR_BAD_URL') return undecodablePath(error)
  return new EdgeError(949, '', { cause: error })
}

export function undecodablePath(cause?: unknown): EdgeError {
  return new EdgeError(614, ' The path cannot be decoded.', { cause })
}
