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

/** Replaces Fastify's own request log. */
export class RequestLog extends LogController {
  readonly #observe: RequestEventListener | undefined

  constructor(observe?: RequestEventListener) {
    super()
    this.#observe = observe
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    if (request.edge.isReported) return
    const fields = fieldsOf(request, reply)
    if (error === null || error === undefined) reply.log.info(fields, COMPLETED)
    else reply.log.warn({ ...fields, error: error.message }, 'request failed')
    report(this.#observe, request, reply)
  }

  override defaultErrorLog(): void {}
  override routeNotFound(): void {}
}

/**
 * Logs and reports a request whose client disconnects before the response is complete: Fastify logs complete
 * responses only, but a write may have been carried out.
 */
export function logDisconnect(request: FastifyRequest, reply: FastifyReply, observe?: RequestEventListener): void {
  onClose(reply, () => {
    if (reply.raw.writableFinished || request.edge.isReported) return
    reply.log.info(fieldsOf(request, reply), request.raw.rejectedWith === undefined ? DISCONNECTED : COMPLETED)
    report(observe, request, reply)
  })
}

/** Logs and reports a request that the router rejects. Fastify runs none of its hooks for it. */
export function logRouterError(request: FastifyRequest, reply: FastifyReply, observe?: RequestEventListener): void {
  onClose(reply, () => {
    if (request.edge.isReported) return
    reply.log.info(fieldsOf(request, reply), COMPLETED)
    report(observe, request, reply)
  })
}

/** The client may have disconnected already, for example while its password was verified. */
function onClose({ raw }: FastifyReply, closed: () => void): void {
  if (raw.closed) closed()
  else raw.once('close', closed)
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

/** Runs once per request; a response that fails while it is sent is closed as well. */
function report(observe: RequestEventListener | undefined, request: FastifyRequest, reply: FastifyReply): void {
  const { edge } = request
  edge.isReported = true
  const event = eventOf(request, reply, elapsedOf(reply))
  observe?.(event)
  edge.endTrace(event)
}

function fieldsOf(request: FastifyRequest, reply: FastifyReply): object {
  const { edge } = request
  return logFields({
    reqId: request.id,
    method: request.method,
    route: routeOf(request),
    status: statusOf(request, reply),
    elapsed: elapsedOf(reply),
    caller: edge.caller?.name,
    client: edge.clientAddress,
    traceId: edge.trace?.traceId,
  })
}

function elapsedOf(reply: FastifyReply): number {
  return reply.elapsedTime
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
