/** One log line per request: route template, status, time, caller. No URL, no query value, no body, no header. */
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { normalizeAddress } from '../core/ip-addresses.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { RejectedRequest } from '../listener/reject.ts'
import type { AddressOf } from './client-address.ts'
import {
  eventOf,
  eventOfRejected,
  type HitEvent,
  type RequestEventListener,
  routeOf,
  statusOf,
} from './request-state.ts'

export type RequestLogger = Pick<FastifyBaseLogger, 'info' | 'warn'>

const COMPLETED = 'request'
const DISCONNECTED = 'request not answered: connection closed'

interface LogEntry {
  readonly reqId: string
  readonly method: string | undefined
  readonly route: string
  /** Absent: no response was sent. */
  readonly status: number | undefined
  /** Milliseconds from the head of the request to the end of the response. */
  readonly elapsed: number
  readonly caller: string | undefined
  readonly client: string
  /** Of a traced request. */
  readonly traceId?: string | undefined
}

export function logFields({ reqId, method, route, status, elapsed, caller, client, traceId }: LogEntry): object {
  return { reqId, method, route, status, milliseconds: tenths(elapsed), caller, client, traceId }
}

function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}

/**
 * Replaces the lines of Fastify about requests. Fastify itself has no logger: with one, it would add listeners to each
 * response, prepared hits included.
 */
export class RequestLog extends LogController {
  readonly #log: RequestLogger

  constructor(log: RequestLogger) {
    super()
    this.#log = log
  }

  override incomingRequest(): void {}
  override defaultErrorLog(): void {}
  override routeNotFound(): void {}

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

/**
 * Logs and reports a request when its response is complete or its client has disconnected: a write may have been carried
 * out then.
 */
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
    const fields = fieldsOf(request, reply)
    const isAnswered = raw.writableFinished || request.raw.rejectedWith !== undefined
    if (failure === undefined) log.info(fields, isAnswered ? COMPLETED : DISCONNECTED)
    else log.warn({ ...fields, error: failure.message }, 'request failed')
    const event = eventOf(request, reply, elapsedOf(request))
    observe?.(event)
    request.edge.endTrace(event)
  }
  // The client may have disconnected already, for example while its password was verified.
  if (raw.closed) onEnd()
  else raw.once('close', onEnd)
}

/**
 * Returns a function that logs and reports the requests that the listener rejects. Of the pipelined requests that are
 * dropped with their connection only the first is logged; all of them are reported.
 */
export function logRejected(
  log: Pick<FastifyBaseLogger, 'info'>,
  addressOf: AddressOf,
  observe?: RequestEventListener,
): (rejected: RejectedRequest) => void {
  return (rejected) => {
    const { id, request, socket, error, nth = 1 } = rejected
    const peer = socket.remoteAddress ?? ''
    const client = request === undefined ? (normalizeAddress(peer) ?? peer) : addressOf({ raw: request })
    const event = eventOfRejected(rejected, client)
    const { method, route, caller } = event
    const entry = { reqId: id, method, route, status: error?.status, elapsed: event.ms, caller, client }
    if (nth === 1) log.info({ ...logFields(entry), code: error?.code }, error === undefined ? DISCONNECTED : COMPLETED)
    observe?.(event)
  }
}

function fieldsOf(request: FastifyRequest, reply: FastifyReply): object {
  const { edge } = request
  return logFields({
    reqId: request.id,
    method: request.method,
    route: routeOf(request),
    status: statusOf(request, reply),
    elapsed: elapsedOf(request),
    caller: edge.caller?.name,
    client: edge.clientAddress,
    traceId: edge.trace?.traceId,
  })
}

function elapsedOf({ edge }: FastifyRequest): number {
  return performance.now() - edge.startedAt
}

/** Writes one whole line of the log. */
export type WriteLine = (text: string) => void

type RequestFields = Pick<HitEvent, 'method' | 'route' | 'status'>
type CallerFields = Pick<HitEvent, 'caller' | 'client'>

/**
 * Returns a function that logs cache hits. It writes the same line as the logger at level `info`, but joins it from
 * prepared parts: serialising the fields again takes longer than the cache lookup. Without `writeLine` all hits go
 * through the logger.
 */
export function hitLog(log: FastifyBaseLogger, writeLine?: WriteLine): (event: HitEvent) => void {
  if (writeLine === undefined) return (event) => log.info(logFields(entryOf(event)), COMPLETED)
  const requests = new RecentlyUsed<RequestFields & { readonly text: string }>(MAX_IN_USE)
  const callers = new RecentlyUsed<CallerFields & { readonly text: string }>(MAX_IN_USE)
  const requestText = ({ method, route, status }: RequestFields): string => {
    const last = requests.get(route)
    if (last?.status === status && last.method === method) return last.text
    const text = `","method":"${method}","route":${JSON.stringify(route)},"status":${status},"milliseconds":`
    requests.set(route, { method, route, status, text })
    return text
  }
  const callerText = ({ caller, client }: CallerFields): string => {
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
    writeLine(start.text + event.requestId + requestText(event) + tenths(event.ms) + callerText(event))
  }
}

function entryOf({ requestId, method, route, status, ms, caller, client }: HitEvent): LogEntry {
  return { reqId: requestId, method, route, status, elapsed: ms, caller, client }
}
