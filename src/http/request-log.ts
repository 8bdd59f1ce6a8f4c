/**
 * The log line of each request: route template, status, time, caller. No URL, no query value, no body, no header; a path only
 * if no route matches it.
 */
import { type FastifyRequest, LogController } from 'fastify'
import type { RequestEvent } from '../core/events.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import { COMPLETED, logFields, type RequestEventListener, type RequestLogger, tenths } from './report-requests.ts'

/**
 * Replaces the lines of Fastify about requests. Fastify itself has no logger: with one, it would add listeners to each
 * response, prepared hits included.
 */
export class RequestLog extends LogController {
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
 * Returns the listener that writes the log lines of requests, at level `info`. Lines of the usual fields are joined from
 * prepared parts: to serialise the fields takes several times as long.
 */
export function requestLog({ log, logTo }: LogLines): RequestEventListener {
  const requestText = preparedTexts()
  let start = { time: 0, text: '' }
  return (event) => {
    const { message, at, method, sentMethod, status, caller, client, traceId, isOfListener } = event
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
    // An address has no character that JSON escapes.
    const end = `,"caller":${JSON.stringify(caller)},"client":"${client}","msg":"${COMPLETED}"}\n`
    logTo.write(start.text + event.requestId + requestText(event) + tenths(event.ms) + end)
  }
}

type RequestFields = Pick<RequestEvent, 'method' | 'route' | 'status'>

/** Returns the function that makes the same part of lines, which it remembers by route. */
function preparedTexts() {
  const requests = new RecentlyUsed<RequestFields & { readonly text: string }>(MAX_IN_USE)
  return ({ method, route, status }: RequestFields): string => {
    const last = requests.get(route)
    if (last?.status === status && last.method === method) return last.text
    const text = `","method":"${method}","route":${JSON.stringify(route)},"status":${status},"milliseconds":`
    requests.set(route, { method, route, status, text })
    return text
  }
}
