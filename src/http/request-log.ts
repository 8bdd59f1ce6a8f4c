/** One line for each request: route template, status, time, caller. No URLs, no query values, no bodies, no headers. */
import { type FastifyReply, type FastifyRequest, LogController } from 'fastify'

export interface Answered {
  readonly method: string | undefined
  readonly route: string
  readonly status: number
  /** Milliseconds from the head of the request to the end of the answer. */
  readonly elapsed: number
  readonly caller: string | undefined
  readonly client: string
}

export function requestLine({ method, route, status, elapsed, caller, client }: Answered): object {
  return { method, route, status, milliseconds: Math.round(elapsed * 10) / 10, caller, client }
}

export class RequestLog extends LogController {
  readonly #waited: (request: FastifyRequest['raw']) => number

  /** `waited`: milliseconds that a request was at work before the framework saw it. */
  constructor(waited: (request: FastifyRequest['raw']) => number) {
    super()
    this.#waited = waited
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    const line = requestLine({
      method: request.method,
      route: request.routeOptions.url ?? 'unknown',
      status: reply.statusCode,
      elapsed: reply.elapsedTime + this.#waited(request.raw),
      caller: request.caller?.name,
      client: request.clientAddress,
    })
    if (error === null || error === undefined) reply.log.info(line, 'request')
    else reply.log.warn({ ...line, error: error.message }, 'request failed')
  }

  override defaultErrorLog(): void {}
  override routeNotFound(): void {}
}
