/** Sends responses and errors through Fastify. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EdgeError } from '../core/errors.ts'
import type { EdgeResponse } from '../core/response.ts'
import { pretty } from '../representation/pretty.ts'
import { JSON_TYPE, preferencesOf, represent } from '../representation/represent.ts'
import type { RequestLogger } from './request-log.ts'
import { type SchemaError, validationError } from './validation.ts'

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

/** Sends an error of the edge as `{error, message}`; 401 as the text of the real API, unless the client accepts JSON by name. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: EdgeError): FastifyReply {
  const { edge } = request
  edge.nextStage('respond', { error: error.code, ...(error.status >= 500 && { fault: 'error' }) })
  edge.error = error
  reply.code(error.status).header('cache-control', NO_STORE).headers(error.headers)
  if (error.status === 401 && !acceptsJson(request.headers.accept)) {
    return reply.type('text/plain').send('401 Unauthorized')
  }
  const text = JSON.stringify({ error: error.code, message: error.message })
  return reply.header('content-type', JSON_TYPE).send(edge.flags.pretty ? pretty(text) : text)
}

function acceptsJson(accept: string | undefined): boolean {
  return accept?.split(',').some((range) => /^\s*application\/json\s*(?:;|$)/i.test(range)) ?? false
}

/** Turns every error of a handler, a hook or Fastify itself into an error of the contract, in one place. */
export function handleErrors(app: FastifyInstance, log: RequestLogger): void {
  app.setNotFoundHandler((request, reply) => sendError(request, reply, new EdgeError(603)))
  app.setErrorHandler((thrown: Error & { validation?: unknown }, request, reply) => {
    const error = contractError(thrown, request)
    // If the client has disconnected, its call was cancelled on purpose. That is no failure to log.
    if (error.status >= 500 && !reply.raw.destroyed) {
      log.warn({ reqId: request.id, code: error.code, err: error.cause }, error.message)
    }
    return sendError(request, reply, error)
  })
}

function contractError(thrown: unknown, request: FastifyRequest): EdgeError {
  const endpoint = request.routeOptions.config.endpoint
  const { validation, validationContext = '' } = thrown as { validation?: SchemaError[]; validationContext?: string }
  const first = validation?.[0]
  if (first !== undefined && endpoint !== undefined) return validationError(endpoint, validationContext, first)
  return toEdgeError(thrown)
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
