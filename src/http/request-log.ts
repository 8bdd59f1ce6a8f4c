/** One line for each request: route template, status, time, caller. No URLs, no query values, no bodies, no headers. */
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'

export class RequestLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const line = lineOf(request, reply)
    if (error === null || error === undefined) reply.log.info(line, 'request')
    else reply.log.warn({ ...line, error: error.message }, 'request failed')
  }

  override defaultErrorLog(): void {}
  override routeNotFound(): void {}
}

/** Fastify tells of answers only. A client that leaves before its own is whole has a line too: its write may have acted. */
export function logDeparture(request: FastifyRequest, reply: FastifyReply): void {
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) reply.log.info(lineOf(request, reply), 'request not answered: connection closed')
  })
}

function lineOf(request: FastifyRequest, reply: FastifyReply) {
  return {
    method: request.method,
    route: request.routeOptions.url ?? 'unknown',
    status: reply.raw.headersSent ? reply.statusCode : undefined,
    milliseconds: Math.round(reply.elapsedTime * 10) / 10,
    caller: request.caller?.name,
    client: request.clientAddress,
  }
}
