/** The events of one server: which requests are passed on or rejected, and which connections are too slow. */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { EdgeError } from '../core/errors.ts'
import { newRequestId } from '../core/request-ids.ts'
import { keepBusyConnections } from './busy-connections.ts'
import type { FramingLimits } from './framing.ts'
import { type FramingRules, framingError } from './framing.ts'
import { afterReading, rejectUnlessReceived } from './late-requests.ts'
import { PipeliningQueue } from './pipelining-queue.ts'
import type { RejectedRequest } from './reject.ts'
import { parserError, rejectRequest, rejectSocket } from './reject.ts'

/** No endpoint has the method PATCH. It is passed on so that it is answered as by the real API, with 404 and 603. */
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** The code of a request that was not received in time. */
const LATE = 906

/** What the settings say about requests and connections. */
export interface ConnectionRules extends FramingRules {
  readonly limits: ListenerSettings['limits']
  readonly timeouts: ListenerSettings['timeouts']
}

export function connectionRulesOf({ limits, timeouts, hosts }: ListenerSettings, cors: boolean): ConnectionRules {
  return {
    limits,
    timeouts,
    hosts: hosts.map((host) => host.toLowerCase()),
    methods: cors ? [...METHODS, 'OPTIONS'] : METHODS,
  }
}

/** Attaches the listeners to the server and returns the queue in front of the handler. */
export function attach(
  server: Server,
  handler: RequestListener,
  options: Pick<ListenerOptions, 'onReject'> & { readonly interval: number; readonly rules: () => ConnectionRules },
): PipeliningQueue {
  const { rules, interval, onReject } = options
  const expectsContinue = new WeakSet<IncomingMessage>()

  const queue = new PipeliningQueue({
    maxPipelined: () => rules().limits.pipelined,
    handle: (request, response) => {
      const error = framingError(request, rules())
      if (error) {
        const id = newRequestId()
        rejectRequest(response, error, id)
        onReject?.({ id, request, error, socket: request.socket })
        return
      }
      if (expectsContinue.has(request)) continueRequest(request, response, rules().timeouts.expect)
      handler(request, response)
    },
    onDrop: (request, nth) => onReject?.({ id: newRequestId(), request, nth, socket: request.socket }),
  })
  const reject = socketRejection(onReject)

  server.on('connection', closeOnFault)
  // With TLS, requests arrive on the socket inside the TLS connection.
  if (server instanceof TlsServer) server.on('secureConnection', closeOnFault)
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', queue.open)
  server.on('request', queue.accept)
  server.on('checkExpectation', queue.accept)
  server.on('checkContinue', (request, response) => {
    expectsContinue.add(request)
    queue.accept(request, response)
  })
  server.on('connect', (request, socket: Socket) => {
    queue.detached(socket)
    queue.rejectAfterResponses(socket, () => reject(socket, new EdgeError(905), request))
  })
  server.on('clientError', (fault, socket: Socket) => {
    if (socket.destroyed || (fault as NodeJS.ErrnoException).code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const error = parserError(fault, rules().limits.url)
    const rejectIt = () =>
      queue.rejectAfterResponses(socket, (current) => (current ? rejectCurrent(current, error) : reject(socket, error)))
    if (error.code === LATE) rejectUnlessReceived(socket, { queue, timeouts: rules().timeouts, reject: rejectIt })
    else rejectIt()
  })
  watchSlowReaders(server, queue, { rules, interval })
  keepBusyConnections(server, queue)
  return queue
}

/**
 * Closes a connection at its first fault and at its timeout. Node's own listeners do the same, but Node removes them before
 * it emits `connect`: a reset would then be an uncaught error, which ends the process.
 */
function closeOnFault(socket: Socket): void {
  const close = (): void => {
    socket.destroy()
  }
  socket.on('error', close)
  socket.on('timeout', close)
}

/** Returns a function that rejects on the bare socket. `request`: absent if it could not be parsed. */
function socketRejection(onReject: ListenerOptions['onReject']) {
  return (socket: Socket, error: EdgeError, request?: IncomingMessage): void => {
    const id = newRequestId()
    const wasSent = rejectSocket(socket, error, id)
    // A connection that was opened and never used is no request.
    if (wasSent && socket.bytesRead > 0) onReject?.({ id, error, socket, ...(request && { request }) })
  }
}

/** Rejects a request that is being handled. The handler reports it, as it reports its own responses. */
function rejectCurrent(request: IncomingMessage, error: EdgeError): void {
  if (rejectSocket(request.socket, error)) request.rejectedWith = error
}

/** Sends `100 Continue`, and rejects the request if no body follows within `timeout` milliseconds. */
function continueRequest(request: IncomingMessage, response: ServerResponse, timeout: number): void {
  const { socket } = request
  const before = socket.bytesRead
  response.writeContinue()
  const check = () => {
    if (!request.complete && socket.bytesRead === before && !response.headersSent) {
      rejectCurrent(request, new EdgeError(LATE))
    }
  }
  const timer = setTimeout(() => afterReading(check), timeout)
  response.once('close', () => clearTimeout(timer))
}

/**
 * Closes connections whose client reads nothing of a response, which would otherwise stay in memory. The timeout of
 * Node's sockets also runs while a response is being made, so it is set only while bytes are waiting to be written.
 * Node destroys the socket when it fires.
 */
function watchSlowReaders(
  server: Server,
  queue: PipeliningQueue,
  { rules, interval }: { readonly rules: () => ConnectionRules; readonly interval: number },
): void {
  const timer = setInterval(() => {
    const { write } = rules().timeouts
    for (const socket of queue.busySockets()) {
      const timeout = socket.writableLength > 0 ? write : 0
      if (timeout !== (socket.timeout ?? 0)) socket.setTimeout(timeout)
    }
  }, interval).unref()
  server.once('close', () => clearInterval(timer))
}

/** What a reload may change. */
export interface ListenerSettings {
  readonly tls?: TlsFiles | undefined
  /** `pipelined`: requests that may be queued behind the current one, on one connection. */
  readonly limits: FramingLimits & { readonly pipelined: number }
  /** Milliseconds. */
  readonly timeouts: {
    /** Until all headers are received. */
    readonly headers: number
    /** Until the whole request is received. */
    readonly body: number
    /** Without progress of a client that reads its response. */
    readonly write: number
    /** Until the body begins after `100 Continue`. */
    readonly expect: number
    /** Between two requests. */
    readonly idle: number
  }
  /** Host names that are served, in lower case, without port; empty: all. */
  readonly hosts: readonly string[]
}

export interface ListenerOptions extends ListenerSettings {
  /** OPTIONS is served (preflight requests of browsers). */
  readonly cors: boolean
  readonly log: ListenerLog
  /** Called for each request that is not passed on. */
  readonly onReject?: (rejected: RejectedRequest) => void
  /** Milliseconds between two checks for slow connections and for changed certificate files. */
  readonly interval?: number
}

export interface ListenerLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}
