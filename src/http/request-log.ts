import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { normalizeAddress } from '../core/ip-addresses.ts'
import { RecentlyUsed } from '../core/recently-used.ts'
import type { Stopped } from '../listener/reject.ts'
import type { AddressOf } from './client-address.ts'
import { endTrace, eventOf, eventOfStopped, type LoggedHit, type Observe, routeOf, statusOf } from './request-state.ts'

/** One line for each request: route template, status, time, caller. No URLs, no query values, no bodies, no headers. */

const ANSWERED = 'request'
const DEPARTED = 'request not answered: connection closed'

interface LoggedRequest {
  /** Absent: the logger knows it. */
  readonly reqId?: string
  readonly method: string | undefined
  readonly route: string
  /** Absent: nothing was answered. */
  readonly status: number | undefined
  /** Milliseconds from the head of the request to the end of the answer. */
  readonly elapsed: number
  readonly caller: string | undefined
  readonly client: string
  /** Of a request that is traced. */
  readonly traceId?: string | undefined
}

export function requestLine({ reqId, method, route, status, elapsed, caller, client, traceId }: LoggedRequest): object {
  return { reqId, method, route, status, milliseconds: tenths(elapsed), caller, client, traceId }
}

export function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}

export class RequestLog extends LogController {
  readonly #waited: (request: FastifyRequest['raw']) => number
  readonly #observe: Observe | undefined

  /** `waited`: milliseconds that a request was at work before the framework saw it. */
  constructor(waited: (request: FastifyRequest['raw']) => number, observe?: Observe) {
    super()
    this.#waited = waited
    this.#observe = observe
  }

  override incomingRequest(): void {}

  override requestCompleted(error: Error | null, request: FastifyRequest, reply: FastifyReply): void {
    if (request.told) return
    const waited = this.#waited(request.raw)
    const line = lineOf(request, reply, waited)
    if (error === null || error === undefined) reply.log.info(line, ANSWERED)
    else reply.log.warn({ ...line, error: error.message }, 'request failed')
    tell(this.#observe, request, reply, waited)
  }

  override defaultErrorLog(): void {}
  override routeNotFound(): void {}
}

/** Fastify tells of answers only. A client that leaves before its own is whole has a line too: its write may have acted. */
export function logDeparture(request: FastifyRequest, reply: FastifyReply, observe?: Observe): void {
  onClose(reply, () => {
    if (reply.raw.writableFinished || request.told) return
    reply.log.info(lineOf(request, reply), request.raw.refusedWith === undefined ? DEPARTED : ANSWERED)
    tell(observe, request, reply, 0)
  })
}

/** What the router itself refuses runs through none of the framework's ends. */
export function tellOfRefusal(request: FastifyRequest, reply: FastifyReply, observe?: Observe): void {
  onClose(reply, () => {
    if (request.told) return
    reply.log.info(lineOf(request, reply), ANSWERED)
    tell(observe, request, reply, 0)
  })
}

/** The client may have left already, while its password was checked. */
function onClose({ raw }: FastifyReply, told: () => void): void {
  if (raw.closed) told()
  else raw.once('close', told)
}

/**
 * Tells of what the listener stopped. Requests that were sent ahead on a connection that closes cost their client
 * nothing: of those of one connection the first has a line, and all of them are counted.
 */
export function tellStopped(
  log: Pick<FastifyBaseLogger, 'info'>,
  addressOf: AddressOf,
  observe?: Observe,
): (stopped: Stopped) => void {
  return (stopped) => {
    const { id, request, socket, error, nth = 1 } = stopped
    const peer = socket.remoteAddress ?? ''
    const client = request === undefined ? (normalizeAddress(peer) ?? peer) : addressOf({ raw: request })
    const event = eventOfStopped(stopped, client)
    const { method, route, caller } = event
    const line = { reqId: id, method, route, status: error?.status, elapsed: event.ms, caller, client }
    if (nth === 1) log.info({ ...requestLine(line), code: error?.code }, error === undefined ? DEPARTED : ANSWERED)
    observe?.(event)
  }
}

/** Once for each request: one that fails on its way out is closed as well. */
function tell(observe: Observe | undefined, request: FastifyRequest, reply: FastifyReply, waited: number): void {
  request.told = true
  const event = eventOf(request, reply, waited)
  observe?.(event)
  endTrace(request, event)
}

/** `waited`: milliseconds that the request was at work before the framework saw it. */
function lineOf(request: FastifyRequest, reply: FastifyReply, waited = 0): object {
  return requestLine({
    method: request.method,
    route: routeOf(request),
    status: statusOf(request, reply),
    elapsed: reply.elapsedTime + waited,
    caller: request.caller?.name,
    client: request.clientAddress,
    traceId: request.trace?.traceId,
  })
}

/**
 * The line of a hit, as the logger writes it at level `info`, but made of few pieces: the logger would look at each
 * field anew, and that takes longer than the look into the cache. `requestLine` says what stands in a line.
 */

/** Routes and callers whose pieces are remembered. */
const NAMES = 5000

/** Takes one whole line of the log. */
export type WriteLine = (text: string) => void

type What = Pick<LoggedHit, 'method' | 'route' | 'status'>
type Who = Pick<LoggedHit, 'caller' | 'client'>
type Remembered<Facts> = Facts & { readonly text: string }

export function requestLines(write: WriteLine): (hit: LoggedHit) => void {
  const whats = new RecentlyUsed<Remembered<What>>(NAMES)
  const whos = new RecentlyUsed<Remembered<Who>>(NAMES)
  const textOfWhat = ({ method, route, status }: What): string => {
    const last = whats.get(route)
    if (last?.status === status && last.method === method) return last.text
    const text = `","method":"${method}","route":${JSON.stringify(route)},"status":${status},"milliseconds":`
    whats.set(route, { method, route, status, text })
    return text
  }
  const textOfWho = ({ caller, client }: Who): string => {
    const last = whos.get(caller)
    if (last?.client === client) return last.text
    const text = `,"caller":${JSON.stringify(caller)},"client":${JSON.stringify(client)},"msg":"request"}\n`
    whos.set(caller, { caller, client, text })
    return text
  }
  let start = { at: 0, text: '' }
  return (hit) => {
    const now = Date.now()
    if (start.at !== now) start = { at: now, text: `{"level":30,"time":${now},"reqId":"` }
    write(start.text + hit.reqId + textOfWhat(hit) + tenths(hit.elapsed) + textOfWho(hit))
  }
}
