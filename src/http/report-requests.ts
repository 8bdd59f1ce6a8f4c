/** Reports each request once, when it has ended, and the fields of its line in the log. */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { RequestEvent } from '../core/events.ts'
import { normalizeAddress } from '../core/values.ts'
import type { RejectedRequest } from '../listener/reject.ts'
import type { AddressOf } from './client-address.ts'
import { eventOf, eventOfRejected } from './request-events.ts'

export type RequestEventListener = (event: RequestEvent) => void

export type RequestLogger = Pick<FastifyBaseLogger, 'warn'>

export interface RequestObservers {
  /** Receives the event of each request when its response was sent or its client has disconnected. */
  readonly observe?: RequestEventListener
  /** Receives the event of each request that was rejected before it reached the pipeline. */
  readonly onRejected?: RequestEventListener
}

export const COMPLETED = 'request'
const DISCONNECTED = 'request not answered: connection closed'

/** Reports a request when its response is complete or its client has disconnected: a write may have been carried out then. */
export function reportAtEnd(
  request: FastifyRequest,
  reply: FastifyReply,
  { log, observe, onRejected }: RequestObservers & { readonly log: RequestLogger },
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
    if (event.rejectedWith !== undefined) onRejected?.(event)
    if (request.edge.trace !== undefined) request.edge.endTrace(event)
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
    const client = request === undefined ? (normalizeAddress(peer) ?? peer) : addressOf({ raw: request }).address
    const message = error === undefined ? DISCONNECTED : COMPLETED
    observe(eventOfRejected(rejected, client, nth === 1 ? message : undefined))
  }
}

/** Members without a value are not written. */
export function logFields(event: RequestEvent): object {
  const { requestId: reqId, sentMethod: method, route, caller, client, traceId, isOfListener } = event
  const status = event.status === 0 ? undefined : event.status
  const code = isOfListener ? event.errorCode : undefined
  return { reqId, method, route, status, milliseconds: tenths(event.ms), caller, client, traceId, code }
}

export function tenths(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10
}
