/**
 * The log line of each request: route template, status, time, caller. No URL, no query value, no body, no header; a path only
 * if no route matches it. And the lines of faults that only Fastify sees.
 */
import { type FastifyRequest, LogController } from 'fastify'
import { COMPLETED, logFields, type RequestEventListener, type RequestLogger, tenths } from './report-requests.ts'

/**
 * Writes the faults that Fastify reports of responses, instead of its lines about requests. Fastify itself has no logger: with
 * one, it would add listeners to each response, prepared hits included.
 */
export class FaultLog extends LogController {
  readonly #log: RequestLogger

  constructor(log: RequestLogger) {
    super({ disableRequestLogging: true })
    this.#log = log
  }

  override streamError(error: Error, request: FastifyRequest): void {
    this.#log.warn({ reqId: request.id, err: error }, 'response ended early: its body failed')
  }

  override writeHeadError(error: Error, request: FastifyRequest): void {
    this.#log.warn({ reqId: request.id, err: error }, 'response has unusable headers')
  }

  override serializerError(error: Error, request: FastifyRequest): void {
    this.#log.warn({ reqId: request.id, err: error }, 'error cannot be serialised')
  }
}

/** The log of the process, and where its lines go. */
interface LogLines {
  readonly log: { isLevelEnabled(level: 'info'): boolean }
  readonly logTo: { write(line: string): void }
}

/**
 * Returns the listener that writes the log lines of requests, at level `info`. Lines of the usual fields are joined from their
 * texts: to serialise the fields takes several times as long.
 */
export function requestLog({ log, logTo }: LogLines): RequestEventListener {
  let start = { time: 0, text: '' }
  return (event) => {
    const { message, at, method, sentMethod, route, status, caller, client, traceId, isOfListener } = event
    if (message === undefined || !log.isLevelEnabled('info')) return
    const isCompleted = message === COMPLETED && method === sentMethod && status !== 0
    // Each field of a completed request of a known caller, and no other one.
    if (!isCompleted || caller === undefined || traceId !== undefined || isOfListener) {
      const line = { level: 'info', time: new Date(at).toISOString(), ...logFields(event), msg: message }
      logTo.write(`${JSON.stringify(line)}\n`)
      return
    }
    if (start.time !== at)
      start = { time: at, text: `{"level":"info","time":"${new Date(at).toISOString()}","reqId":"` }
    // Of the texts, only the caller can have characters that JSON escapes.
    const request = `"method":"${method}","route":"${route}","status":${status},"milliseconds":${tenths(event.ms)}`
    const sender = `"caller":${JSON.stringify(caller)},"client":"${client}"`
    logTo.write(`${start.text}${event.requestId}",${request},${sender},"msg":"${COMPLETED}"}\n`)
  }
}
