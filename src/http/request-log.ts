/** One line for each request: route template, status, time, caller. No URLs, no query values, no bodies, no headers. */
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'

export class RequestLog extends LogController {
  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const line = {
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      milliseconds: Math.round(reply.elapsedTime * 10) / 10,
      caller: request.caller?.name,
      client: request.clientAddress,
    }
    if (error === null || error === undefined) reply.log.info(line, 'request')
    else reply.log.warn({ ...line, error: error.message }, 'request failed')
  }

  override defaultErrorLog(): void {}
  override routeNotFound(): void {}
}
