/** The events of a server: which requests are passed on or rejected. */
import type { IncomingMessage, RequestListener, Server } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { EdgeError } from '../core/errors.ts'
import { newRequestId } from '../core/request.ts'
import { Connection } from './connection.ts'
import type { Drain } from './drain.ts'
import { type FramingRules, framingError } from './framing.ts'
import { continueAfterDrain } from './node-internals.ts'
import type { ListenerOptions, ListenerSettings } from './options.ts'
import { parserError, type Rejection, rejectionOf, rejectRequest, rejectSocket } from './reject.ts'
import { continueRequest, rejectUnlessReceived } from './slow-clients.ts'

/** The code of a request that was not received in time. */
const LATE = 906

export interface AttachOptions {
  /** The open connections. With TLS, their sockets are those inside the TLS connections. */
  readonly connections: Map<Socket, Connection>
  /** A reload replaces `current`. */
  readonly rules: { readonly current: ListenerSettings & FramingRules }
  /** Receives each request that is not rejected. */
  readonly handle: RequestListener
  readonly drain: Drain
  /** Receives each other request. */
  readonly onReject: ListenerOptions['onReject']
  readonly rejectionForm: ListenerOptions['rejectionForm']
}

/** A reset, and a handshake that did not end in time: before its end, the client has sent no request. */
const WITHOUT_RESPONSE: ReadonlySet<string> = new Set(['ECONNRESET', 'ERR_TLS_HANDSHAKE_TIMEOUT'])

/** Attaches the listeners to the server. */
export function attach(server: Server, options: AttachOptions): void {
  const { connections, rules, drain, onReject, rejectionForm } = options
  const handle: RequestListener = (request, response) => {
    const error = framingError(request, rules.current)
    if (error) {
      const id = newRequestId()
      const rejection = rejectionOf(error, rejectionForm)
      rejectRequest(response, rejection, id)
      const bytes = request.method === 'HEAD' ? 0 : Buffer.byteLength(rejection.body)
      onReject?.({ id, request, error, bytes, socket: request.socket })
      return
    }
    if (request.headers.expect !== undefined && request.httpVersion === '1.1')
      continueRequest(request, response, rules.current.timeouts.expect, () =>
        rejectCurrent(request, rejectionOf(new EdgeError(LATE), rejectionForm)),
      )
    if (drain.isRunning) drain.handle(request, response, options.handle)
    else options.handle(request, response)
  }
  /** Rejects on the bare socket. `request`: absent if it could not be parsed. */
  const reject = (socket: Socket, error: EdgeError, request?: IncomingMessage): void => {
    const id = newRequestId()
    const rejection = rejectionOf(error, rejectionForm)
    const wasSent = rejectSocket(socket, rejection, id)
    const bytes = Buffer.byteLength(rejection.body)
    // A connection that was opened and never used is no request.
    if (wasSent && socket.bytesRead > 0) onReject?.({ id, error, bytes, socket, ...(request && { request }) })
  }
  const connectionOptions = {
    maxPipelined: () => rules.current.limits.pipelined,
    handle,
    onDrop: (request: IncomingMessage, nth: number) =>
      onReject?.({ id: newRequestId(), request, nth, socket: request.socket }),
  }
  const connectionOf = (socket: Socket): Connection => connections.get(socket) ?? open(socket)
  const open = (socket: Socket): Connection => {
    const connection = new Connection(socket, connectionOptions)
    connections.set(socket, connection)
    socket.once('close', () => connections.delete(socket))
    closeOnFault(socket)
    return connection
  }
  const accept: RequestListener = (request, response) => connectionOf(request.socket).accept(request, response)

  if (server instanceof TlsServer) server.on('connection', closeOnFault)
  // A connection may be known already: Node may parse what came with the end of the handshake before this event.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', connectionOf)
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.on(event, accept)
  server.on('connect', (request, socket: Socket) => {
    const connection = connectionOf(socket)
    continueAfterDrain(socket, () => connection.current?.response)
    // Discards what follows: while bytes are unread, the end of the connection is not seen.
    socket.resume()
    connection.rejectAfterResponses(() => reject(socket, new EdgeError(905), request))
  })
  server.on('clientError', (fault, socket: Socket) => {
    if (socket.destroyed || WITHOUT_RESPONSE.has((fault as NodeJS.ErrnoException).code ?? '')) {
      socket.destroy()
      return
    }
    const connection = connectionOf(socket)
    const { limits, timeouts } = rules.current
    const error = parserError(fault, limits.url)
    const rejectIt = (): void =>
      connection.rejectAfterResponses((current) =>
        current ? rejectCurrent(current, rejectionOf(error, rejectionForm)) : reject(socket, error),
      )
    if (error.code === LATE) rejectUnlessReceived(connection, timeouts, rejectIt)
    else rejectIt()
  })
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

/** Rejects a request that is being handled. The handler reports it, as it reports its own responses. */
function rejectCurrent(request: IncomingMessage, rejection: Rejection): void {
  if (rejectSocket(request.socket, rejection)) request.rejectedWith = rejection.error
}
