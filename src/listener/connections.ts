import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { EdgeError } from '../core/errors.ts'
import { type FramingRules, framingFault } from './framing.ts'
import type { ListenerOptions } from './listener.ts'
import { Gate, type Serve } from './pipelining-queue.ts'
import { parserFault, refuse, refuseSocket } from './reject.ts'
/** The events of one server: which request passes, which is refused, and which connection is too slow. */

/** PATCH is no endpoint's method: it is let in to be told so as the real API tells it, with 404 and 603. */
export const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** Puts the gate in front of the handler; gives the gate. */
export function attach(server: Server, handler: Serve, options: ListenerOptions & { interval: number }): Gate {
  const { limits, timeouts, hosts, cors, stopped } = options
  const rules: FramingRules = {
    limits,
    hosts: hosts.map((host) => host.toLowerCase()),
    methods: cors ? [...METHODS, 'OPTIONS'] : METHODS,
  }
  const awaitsContinue = new WeakSet<IncomingMessage>()

  const gate = new Gate({
    pipelined: limits.pipelined,
    serve: (request, response) => {
      const error = framingFault(request, rules)
      if (error) {
        const id = randomUUID()
        refuse(response, error, id)
        stopped?.({ id, request, error, socket: request.socket })
        return
      }
      if (awaitsContinue.has(request)) expectBody(request, response, timeouts.expect)
      handler(request, response)
    },
    dropped: (request, nth) => stopped?.({ id: randomUUID(), request, nth, socket: request.socket }),
  })
  const refuseHere = refusing(stopped)

  // With TLS the connection of requests is the one inside.
  server.on(server instanceof TlsServer ? 'secureConnection' : 'connection', (socket: Socket) => gate.open(socket))
  server.on('request', gate.enter)
  server.on('checkExpectation', gate.enter)
  server.on('checkContinue', (request, response) => {
    awaitsContinue.add(request)
    gate.enter(request, response)
  })
  server.on('connect', (request, socket: Socket) =>
    gate.afterAnswers(socket, () => refuseHere(socket, new EdgeError(905), request)),
  )
  server.on('clientError', (fault, socket: Socket) => {
    if (socket.destroyed || (fault as NodeJS.ErrnoException).code === 'ECONNRESET') {
      socket.destroy()
      return
    }
    const error = parserFault(fault, limits.url)
    gate.afterAnswers(socket, (atWork) => (atWork ? refuseInstead(atWork, error) : refuseHere(socket, error)))
  })
  watchSlowReaders(server, gate, { limit: timeouts.write, interval: options.interval })
  return gate
}

/** On the bare socket; `request`: it was read. Who said nothing until its time was up has asked for nothing. */
function refusing(stopped: ListenerOptions['stopped']) {
  return (socket: Socket, error: EdgeError, request?: IncomingMessage): void => {
    const id = randomUUID()
    const answered = refuseSocket(socket, error, id)
    if (answered && socket.bytesRead > 0) stopped?.({ id, error, socket, ...(request && { request }) })
  }
}

/** Whoever is at work on it tells of it, as of what it answers itself. */
function refuseInstead(atWork: IncomingMessage, error: EdgeError): void {
  if (refuseSocket(atWork.socket, error)) atWork.refusedWith = error
}

/** Who asked for `100 Continue` and then sends nothing is cut off. */
function expectBody(request: IncomingMessage, response: ServerResponse, limit: number): void {
  const { socket } = request
  const before = socket.bytesRead
  response.writeContinue()
  const timer = setTimeout(() => {
    if (!request.complete && socket.bytesRead === before && !response.headersSent) {
      refuseInstead(request, new EdgeError(906))
    }
  }, limit)
  response.once('close', () => clearTimeout(timer))
}

/**
 * A client that reads nothing would hold its answer in memory for ever. Node's socket timer looks at the bytes
 * that are still to be written, but also runs while an answer is being made: so it is set only while there is
 * something to write. Node destroys the socket when it fires.
 */
function watchSlowReaders(
  server: Server,
  gate: Gate,
  { limit, interval }: { readonly limit: number; readonly interval: number },
): void {
  const watched = new WeakSet<Socket>()
  const timer = setInterval(() => {
    for (const socket of gate.writing()) {
      const writes = socket.writableLength > 0
      if (writes === watched.has(socket)) continue
      if (writes) watched.add(socket)
      else watched.delete(socket)
      socket.setTimeout(writes ? limit : 0)
    }
  }, interval).unref()
  server.once('close', () => clearInterval(timer))
}
