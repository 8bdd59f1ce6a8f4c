/**
 * Reports each request once, when it has ended, and writes the log line of each report: route template, status, time,
 * caller. No URL, no query value, no body, no header.
 */
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import type { RequestEvent } from '../core/events.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import { normalizeAddress } from '../core/values.ts'
import type { RejectedRequest } from '../listener/reject.ts'
import type { AddressOf } from './client-address.ts'
import { eventOf, eventOfRejected, type RequestEventListener } from './request-state.ts'

const COMPLETED = 'request'
const DISCONNECTED = 'request not answered: connection closed'

export type RequestLogger = Pick<FastifyBaseLogger, 'warn'>

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

/** Reports a request when its response is complete or its client has disconnected: a write may have been carried out then. */
export function reportAtEnd(
  request: FastifyRequest,
  reply: FastifyReply,
  log: RequestLogger,
  observe?: RequestEventListener,
): void {
  const { raw } = reply
  let failure: Error | undefined
  raw.on('error', (error) => {
    failure = error
  })
  const onEnd = () => {
    const isAnswered = raw.writableFinished || request.raw.rejectedWith !== undefined
    const message = isAnswered ? COMPLETED : DISCONNECTED
    const event = eventOf(request, reply, failure === undefined ? message : undefined)
    if (failure !== undefined) log.warn({ ...logFields(event), error: failure.message }, 'request failed')
    observe?.(event)
    request.edge.endTrace(event)
  }
  // The client may have disconnected already, for example while its password was verified.
  if (raw.closed) onEnd()
  else raw.once('close', onEnd)
}

/**
 * Returns a function that reports the requests that the listener rejects. Of the pipelined requests that are dropped with
 * their connection only the first has a line in the log.
 */
export function rejectionReporter(
  addressOf: AddressOf,
  observe: RequestEventListener,
): (rejected: RejectedRequest) => void {
  return (rejected) => {
    const { request, socket, error, nth = 1 } = rejected
    const peer = socket.remoteAddress ?? ''
    const client = request === undefined ? (normalizeAddress(peer) ?? peer) : addressOf({ raw: request })
    const message = error === undefined ? DISCONNECTED : COMPLETED
    observe(eventOfRejected(rejected, client, nth === 1 ? message : undefined))
  }
}

/** The log of the process, and where its lines go. */
export interface LogLines {
  readonly log: { isLevelEnabled(level: 'info'): boolean }
  readonly logTo: { write(line: string): void }
}

/** Returns the listener that writes the log lines of requests, at level `info`. */
export function requestLog({ log, logTo }: LogLines): RequestEventListener {
  const textOf = hitTexts()
  return (event) => {
    const { message, cache, traceId, at } = event
    if (message === undefined || !log.isLevelEnabled('info')) return
    const isPlainHit = cache === 'hit' && traceId === undefined && message === COMPLETED
    logTo.write(
      isPlainHit ? textOf(event) : `${JSON.stringify({ level: 30, time: at, ...logFields(event), msg: message })}\n`,
    )
  }
}

/** Members without a value are not written. */
function logFields(event: RequestEvent): object {
  const { requestId: reqId, sentMethod: method, route, caller, client, traceId, isOfListener } = event
  const status = event.status === 0 ? undefined : event.status
  const code = isOfListener ? event.errorCode : undefined
  return { reqId, method, route, status, milliseconds: tenths(event.ms), caller, client, traceId, code }
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}

type RequestFields = Pick<RequestEvent, 'method' | 'route' | 'status'>
type CallerFields = Pick<RequestEvent, 'caller' | 'client'>

/** Returns the function that joins the same lines from prepared parts: to serialise the fields takes several times as long. */
function hitTexts(): (event: RequestEvent) => string {
  const requests = new RecentlyUsed<RequestFields & { readonly text: string }>(MAX_IN_USE)
  const callers = new RecentlyUsed<CallerFields & { readonly text: string }>(MAX_IN_USE)
  const requestText = ({ method, route, status }: RequestFields): string => {
    const last = requests.get(route)
    if (last?.status === status && last.method === method) return last.text
    const text = `","method":"${method}","route":${JSON.stringify(route)},"status":${status},"milliseconds":`
    requests.set(route, { method, route, status, text })
    return text
  }
  const callerText = ({ caller = '', client }: CallerFields): string => {
    const last = callers.get(caller)
    if (last?.client === client) return last.text
    const text = `,"caller":${JSON.stringify(caller)},"client":${JSON.stringify(client)},"msg":"${COMPLETED}"}\n`
    callers.set(caller, { caller, client, text })
    return text
  }
  let start = { time: 0, text: '' }
  return (event) => {
    const { at } = event
    if (start.time !== at) start = { time: at, text: `{"level":30,"time":${at},"reqId":"` }
    return start.text + event.requestId + requestText(event) + tenths(event.ms) + callerText(event)
  }
}
