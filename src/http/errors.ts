/** Errors of a contract: each error of a handler, a hook or Fastify becomes one of them, in one place. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EdgeError } from '../core/errors.ts'
import type { HttpContract } from './contract.ts'
import type { RequestLogger } from './request-events.ts'

/** The `Cache-Control` of everything that no cache may store: secrets, errors, writes. */
export const NO_STORE = 'no-store'

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
