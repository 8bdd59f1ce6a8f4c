/** Whatever goes wrong behind the framework becomes an error of the contract, in one place. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { EdgeError } from '../core/errors.ts'
import { sendError, toEdgeError } from './reply.ts'
import { validationError } from './validation-error.ts'

export function handleErrors(app: FastifyInstance): void {
  app.setNotFoundHandler((request, reply) => sendError(request, reply, new EdgeError(603)))
  app.setErrorHandler((error: Error & { validation?: unknown }, request, reply) => {
    const answer = wireError(error, request)
    // Whoever left cannot be told, and its call was given up on purpose: that is no failure to report.
    const left = reply.raw.destroyed
    if (answer.status >= 500 && !left) request.log.warn({ code: answer.code, err: answer.cause }, answer.message)
    return sendError(request, reply, answer)
  })
}

function wireError(error: unknown, request: FastifyRequest): EdgeError {
  const endpoint = request.routeOptions.config.endpoint
  const found = error as { validation?: Parameters<typeof validationError>[2][]; validationContext?: string }
  const first = found.validation?.[0]
  if (first !== undefined && endpoint !== undefined)
    return validationError(endpoint, found.validationContext ?? '', first)
  return toEdgeError(error)
}
