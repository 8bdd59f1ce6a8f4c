/**
 * The connections of a server and their requests: which requests are handled, rejected or dropped.
 */

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { EdgeError } from '../core/errors.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import type { Draining } from './drain.ts'
import { type FramingLimits, type FramingRules, framingError, hasBody, isIgnoredUpgrade, pathOf } from './framing.ts'
import { answerHalfClosed, continueAfterDrain } from './node-internals.ts'
import {
  parserError,
  type RejectedRequest,
  type RejectionForm,
  rejectionOf,
  rejectRequest,
  rejectSocket,
} from './reject.ts'
import { continueRequest, limitBodyRate, rejectUnlessReceived, type Timeouts } from './slow-clients.ts'

/** What a reload may change, beside the certificate. */
export interface ConnectionSettings {
  /** `pipelined`: requests that may be queued behind the current one, on one connection. */
  readonly limits: FramingLimits & { readonly pipelined: number }
  /** Milliseconds. */
  readonly timeouts: Timeouts
  /** Host names that are served, without port; empty: all. */
  readonly hosts: readonly string[]
}

/** The code of a request that was not received in time. */
const LATE = 906

interface AttachOptions {
  /** The open connections. With TLS, their sockets are those inside the TLS connections. */
  readonly connections: Map<Socket, Connection>
  /** A reload replaces `current`. */
  readonly rules: { readonly current: ConnectionSettings & FramingRules }
  /** Receives each request that is not rejected. */
  readonly handle: RequestListener
  /** Receives the requests that arrive while the server drains. */
  readonly drain: Draining
  readonly onReject: ((rejected: RejectedRequest) => void) | undefined
  readonly rejectionForm: RejectionForm | undefined
}

/** A reset, and a handshake that did not end in time: before its end, the client has sent no request. */
const WITHOUT_RESPONSE: ReadonlySet<string> = new Set(['ECONNRESET', 'ERR_TLS_HANDSHAKE_TIMEOUT'])

/** Attaches a server to its connections: from now on, they receive its requests. */
export function attach(server: Server, options: AttachOptions): void {
  const intake = new Intake(options)
  answerHalfClosed(server)
  if (server instanceof TlsServer) server.on('connection', closeOnFault)
  // A connection may be known already: Node may parse what came with the end of the handshake before this event.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', intake.connectionOf)
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, intake.accept)
  server.on('connect', intake.rejectConnect)
  server.on('clientError', intake.rejectFault)
}

/** What becomes of the requests of a server. */
class Intake {
  readonly #options: AttachOptions
  readonly #connectionOptions: ConnectionOptions

  constructor(options: AttachOptions) {
    const { rules, onReject } = options
    this.#options = options
    this.#connectionOptions = {
      maxPipelined: () => rules.current.limits.pipelined,
      handle: this.#handle,
      onDrop: (request, nth) => onReject?.({ id: randomUUID(), request, nth, socket: request.socket }),
    }
  }

  readonly accept: RequestListener = (request, response) => {
    const { socket } = request
    ;(this.#options.connections.get(socket) ?? this.#open(socket)).accept(request, response)
  }

  readonly connectionOf = (socket: Socket): Connection => this.#options.connections.get(socket) ?? this.#open(socket)

  readonly rejectConnect = (request: IncomingMessage, socket: Socket): void => {
    const connection = this.connectionOf(socket)
    continueAfterDrain(socket, () => connection.current?.response)
    // Discards what follows: while bytes are unread, the end of the connection is not seen.
    socket.resume()
    connection.rejectAfterResponses(() => this.#reject(socket, new EdgeError(905), request))
  }

  /** Rejects what Node could not parse, or did not receive in time. */
  readonly rejectFault = (fault: NodeJS.ErrnoException, socket: Socket): void => {
    if (socket.destroyed || WITHOUT_RESPONSE.has(fault.code ?? '')) {
      socket.destroy()
      return
    }
    const connection = this.connectionOf(socket)
    const { limits, timeouts } = this.#options.rules.current
    const error = parserError(fault, limits.url)
    const rejectIt = (): void =>
      connection.rejectAfterResponses((current) =>
        current ? this.#rejectCurrent(current, error) : this.#reject(socket, error),
      )
    if (error.code === LATE) rejectUnlessReceived(connection, timeouts, rejectIt)
    else rejectIt()
  }

  #open(socket: Socket): Connection {
    const { connections } = this.#options
    const connection = new Connection(socket, this.#connectionOptions)
    connections.set(socket, connection)
    // Sockets without TLS have it from Node's server.
    socket.allowHalfOpen = true
    socket.once('close', () => connections.delete(socket))
    closeOnFault(socket)
    return connection
  }

  readonly #handle: RequestListener = (request, response) => {
    const { rules, drain, handle, onReject, rejectionForm } = this.#options
    const error = framingError(request, rules.current)
    if (error) {
      const id = randomUUID()
      const rejection = rejectionOf(error, rejectionForm)
      rejectRequest(response, rejection, id)
      const bytes = request.method === 'HEAD' ? 0 : Buffer.byteLength(rejection.body)
      onReject?.({ id, request, error, bytes, socket: request.socket })
      return
    }
    const { headers, httpVersion, url = '' } = request
    const { timeouts } = rules.current
    request.url = pathOf(url)
    // Node drops what arrived together with such a request, so no other request may follow on the connection.
    if (headers.upgrade !== undefined && isIgnoredUpgrade(headers)) response.shouldKeepAlive = false
    const rejectLate = (): void => this.#rejectCurrent(request, new EdgeError(LATE))
    if (headers.expect !== undefined && httpVersion === '1.1')
      continueRequest(request, response, timeouts.expect, rejectLate)
    if (hasBody(headers)) limitBodyRate(request, timeouts.body, rejectLate)
    if (drain.isRunning) drain.handle(request, response, handle)
    else handle(request, response)
  }

  /** Rejects on the bare socket. `request`: absent if it could not be parsed. */
  #reject(socket: Socket, error: EdgeError, request?: IncomingMessage): void {
    const { onReject, rejectionForm } = this.#options
    const id = randomUUID()
    const rejection = rejectionOf(error, rejectionForm)
    const wasSent = rejectSocket(socket, rejection, id)
    const bytes = Buffer.byteLength(rejection.body)
    // A connection that was opened and never used is no request.
    if (wasSent && socket.bytesRead > 0) onReject?.({ id, error, bytes, socket, ...(request && { request }) })
  }

  /** Rejects a request that is being handled. The handler reports it, as it reports its own responses. */
  #rejectCurrent(request: IncomingMessage, error: EdgeError): void {
    const rejection = rejectionOf(error, this.#options.rejectionForm)
    if (rejectSocket(request.socket, rejection)) request.rejectedWith = rejection.error
  }
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
