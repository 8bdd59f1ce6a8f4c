import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { EdgeError } from '../core/errors.ts'
import type { EdgeResponse } from '../core/response.ts'
import { NO_STORE } from './cache-headers.ts'
import type { Flags } from './parameters.ts'
import { pretty } from './pretty.ts'
import { JSON_TYPE, represent, type Wanted } from './representation.ts'
import { nextStage } from './request-state.ts'
import { validationError } from './validation.ts'
import { textOf } from './write-response.ts'

/** Answers and errors on the wire; the only place where they become bytes for a client. */

const WORTH = 1024

/** Sends an answer; a raw file keeps its own type and is touched by nothing. */
export async function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: EdgeResponse,
  compressFrom?: number,
): Promise<FastifyReply> {
  nextStage(request, 'reply')
  if (answer.kind === 'raw') {
    if (answer.length !== undefined) reply.header('content-length', answer.length)
    else request.sentBefore = request.raw.socket.bytesWritten
    return reply.code(answer.status).type(answer.type).send(answer.stream)
  }
  const { status, lasting, headers, bytes } = await represent(
    answer,
    wantedBy(request.headers, request.flags, compressFrom),
  )
  reply.code(status)
  addHeaders(reply, lasting.pairs)
  addHeaders(reply, headers)
  return reply.send(bytes)
}

/** What every answer says, whatever it is: names and values in turn. */
export function everyAnswer(id: string): readonly string[] {
  return ['x-request-id', id, 'x-content-type-options', 'nosniff']
}

export function addHeaders(reply: FastifyReply, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) addHeader(reply, headers[at] ?? '', headers[at + 1] ?? '')
}

/** What of a request's headers and flags chooses the representation. */
export function wantedBy(headers: IncomingHttpHeaders, flags: Flags, compressFrom = WORTH): Wanted {
  return {
    pretty: flags.pretty,
    acceptEncoding: textOf(headers['accept-encoding']),
    ifNoneMatch: headers['if-none-match'],
    compressFrom,
  }
}

/** CORS has written its own Vary before. */
function addHeader(reply: FastifyReply, name: string, value: string): void {
  const before = name === 'vary' ? reply.getHeader('vary') : undefined
  reply.header(name, before === undefined ? value : `${before}, ${value}`)
}

/** Sends an error of the edge's own as `{error, message}`; 401 as the real API's text, unless JSON is asked for by name. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: EdgeError): FastifyReply {
  nextStage(request, 'reply', { error: error.code, ...(error.status >= 500 && { fault: 'error' }) })
  request.refused = error
  reply.code(error.status).header('cache-control', NO_STORE).headers(error.headers)
  if (error.status === 401 && !asksForJson(request.headers.accept)) {
    return reply.type('text/plain').send('401 Unauthorized')
  }
  const text = JSON.stringify({ error: error.code, message: error.message })
  return reply.header('content-type', JSON_TYPE).send(request.flags.pretty ? pretty(text) : text)
}

function asksForJson(accept: string | undefined): boolean {
  return accept?.split(',').some((range) => /^\s*application\/json\s*(?:;|$)/i.test(range)) ?? false
}

/** What Fastify itself refuses, in the contract's codes; what nobody foresaw is 949 and goes to the log. */
export function toEdgeError(error: unknown): EdgeError {
  if (error instanceof EdgeError) return error
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new EdgeError(701, '', { cause: error })
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new EdgeError(607, '', { cause: error })
  if (code === 'FST_ERR_BAD_URL') return new EdgeError(614, ' The path cannot be decoded.', { cause: error })
  if (code === 'FST_ERR_CTP_INVALID_CONTENT_LENGTH') return new EdgeError(614, '', { cause: error })
  return new EdgeError(949, '', { cause: error })
}

/** Whatever goes wrong behind the framework becomes an error of the contract, in one place. */

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
