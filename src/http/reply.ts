/** Answers and errors on the wire (design.md section 8); the only place where they become bytes for a client. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { EdgeError } from '../errors.ts'
import { pretty } from '../layout/pretty.ts'
import type { Answer } from '../pipeline/ports.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends an answer; a raw file keeps its own type and is not touched by `pretty`. */
export function sendAnswer(request: FastifyRequest, reply: FastifyReply, answer: Answer): FastifyReply {
  if (answer.kind === 'raw') {
    if (answer.length !== undefined) reply.header('content-length', answer.length)
    return reply.code(answer.status).type(answer.type).send(answer.stream)
  }
  const bytes = request.flags.pretty ? pretty(answer.bytes) : answer.bytes
  return reply
    .code(answer.status)
    .headers(answer.headers ?? {})
    .header('content-type', JSON_TYPE)
    .send(bytes)
}

/** Sends an error of the edge's own as `{error, message}`; 401 as the real API's text, unless JSON is asked for by name. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: EdgeError): FastifyReply {
  reply.code(error.status).headers(error.headers)
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
