/**
 * The server below Fastify: TLS with certificates that can change at run time, the strict HTTP parser, its limits and
 * timeouts. It passes on only unambiguous requests, one at a time for each connection.
 */
import { createServer as createHttpServer, type Server as HttpServer, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { FastifyServerFactory } from 'fastify'
import { attach } from './attach.ts'
import { watchCertificate } from './certificates.ts'
import type { Connection } from './connection.ts'
import { Drain, type DrainOptions } from './drain.ts'
import { withRules } from './framing.ts'
import type { ListenerOptions, ListenerSettings } from './options.ts'
import { closeSlowReaders } from './slow-clients.ts'

export type Listener = Awaited<ReturnType<typeof createListener>>

/** Timeouts are exceeded by at most one second. */
const CHECK_INTERVAL_MS = 1000

/** Makes the listener. If the certificate cannot be used, throws an Error that names its files. */
export async function createListener(options: ListenerOptions) {
  const { tls, log, cors, onReject, rejectionForm, interval = CHECK_INTERVAL_MS } = options
  const servers: (HttpServer | TlsServer)[] = []
  const connections = new Map<Socket, Connection>()
  const rules = { current: withRules<ListenerSettings>(options, cors) }
  const drain = new Drain(servers, connections)

  const certificate =
    tls &&
    (await watchCertificate(tls, log, (context) => {
      for (const server of servers) if (server instanceof TlsServer) server.setSecureContext(context)
    }))
  const timer = closeSlowReaders(connections, () => rules.current.timeouts.write, interval)
  const stop = (): void => {
    certificate?.close()
    clearInterval(timer)
  }

  const serverFactory: FastifyServerFactory = (handler) => {
    const settings = serverOptions(rules.current, interval)
    const server = certificate ? createTlsServer({ ...settings, ...certificate.current() }) : createHttpServer(settings)
    // Node would drop headers beyond this number silently; framing.ts counts them and rejects the request.
    server.maxHeadersCount = 0
    attach(server, { connections, handle: handler, drain, rules, onReject, rejectionForm })
    servers.push(server)
    server.once('close', stop)
    return server
  }

  return {
    /** Every server that the factory has made: Fastify makes one for each address of `localhost`. */
    servers,
    /**
     * Checks changed files of the certificate. Rejects with an Error that names them if they cannot be used. Resolves to
     * the function that puts these settings to use.
     */
    prepareReload: async (next: ListenerSettings): Promise<() => void> => {
      const replaceCertificate = next.tls && (await certificate?.prepareReload(next.tls))
      return () => {
        replaceCertificate?.()
        rules.current = withRules(next, cors)
        for (const server of servers) applySettings(server, next)
      }
    },
    /**
     * The options of Fastify that put it behind this listener. Fastify adds its handler of client errors beside the one of
     * attach.ts, and two handlers would send two responses.
     */
    fastify: { serverFactory, clientErrorHandler: () => undefined },
    /** Closes the connection whose socket has failed with this error. Returns `false` if there is none. */
    closeFailedConnection: (error: unknown): boolean => {
      // A socket without an error has `null`.
      const failed = error instanceof Error && [...connections.keys()].find(({ errored }) => errored === error)
      if (failed) failed.destroy()
      return Boolean(failed)
    },
    /** Resolves when the last connection is closed: `true` if all requests ended by themselves, `false` if the limit closed some. */
    drain: (drainOptions: DrainOptions) => drain.run(drainOptions),
  }
}

/** Node reads these properties for each connection, or each second. */
function applySettings(server: HttpServer | TlsServer, settings: ListenerSettings): void {
  const { maxHeaderSize, headersTimeout, requestTimeout, keepAliveTimeout } = serverOptions(settings, 0)
  Object.assign(server, { maxHeaderSize, headersTimeout, requestTimeout, keepAliveTimeout })
}

function serverOptions(
  { limits, timeouts }: ListenerSettings,
  interval: number,
): ServerOptions & { handshakeTimeout: number } {
  return {
    insecureHTTPParser: false,
    // The parser limits URL and headers together; framing.ts checks each against its own limit.
    maxHeaderSize: limits.headers + limits.url,
    // framing.ts rejects a missing Host with a body.
    requireHostHeader: false,
    headersTimeout: Math.min(timeouts.headers, timeouts.body),
    requestTimeout: timeouts.body,
    handshakeTimeout: timeouts.headers,
    keepAliveTimeout: timeouts.idle,
    connectionsCheckingInterval: interval,
  }
}
