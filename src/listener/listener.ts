/**
 * The server below Fastify: TLS with certificates that can change at run time, the strict HTTP parser, its limits and
 * timeouts. It passes on only unambiguous requests, one at a time for each connection.
 */

import { readFile } from 'node:fs/promises'
import { createServer as createHttpServer, type Server as HttpServer, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyServerFactory } from 'fastify'
import type { Connection } from './connection.ts'
import { attach, type ConnectionSettings } from './connections.ts'
import { Draining, type DrainingOptions } from './drain.ts'
import { type MethodsAt, withRules } from './framing.ts'
import type { RejectedRequest, RejectionForm } from './reject.ts'
import { closeSlowReaders } from './slow-clients.ts'

/** What a reload may change. */
export interface ListenerSettings extends ConnectionSettings {
  readonly tls?: TlsFiles | undefined
}

export interface ListenerOptions extends ListenerSettings {
  /** OPTIONS is served (preflight requests of browsers). */
  readonly cors: boolean
  readonly log: { info(fields: object, message: string): void }
  /** How errors are written; absent: as in the v3 contract. */
  readonly rejectionForm?: RejectionForm | undefined
  /** Called for each request that is not passed on. */
  readonly onReject?: (rejected: RejectedRequest) => void
  /** Returns the methods of a path; absent: every path has all methods. */
  readonly methodsAt?: MethodsAt
  /** Milliseconds between two checks for slow connections. */
  readonly interval?: number
}

interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export type Listener = Awaited<ReturnType<typeof createListener>>

/** Timeouts are exceeded by at most one second. */
const CHECK_INTERVAL_MS = 1000

/** Makes the listener. If the certificate cannot be used, throws an Error that names its files. */
export async function createListener(options: ListenerOptions) {
  const { tls, log, onReject, rejectionForm, interval = CHECK_INTERVAL_MS } = options
  const servers: (HttpServer | TlsServer)[] = []
  const connections = new Map<Socket, Connection>()
  const rules = { current: withRules<ListenerSettings>(options, options) }
  const drain = new Draining(servers, connections)

  let context = tls && (await readCertificate(tls))
  const timer = closeSlowReaders(connections, () => rules.current.timeouts.write, interval)

  const serverFactory: FastifyServerFactory = (handler) => {
    const settings = serverOptions(rules.current, interval)
    const server = context ? createTlsServer({ ...settings, ...context }) : createHttpServer(settings)
    // Node would drop headers beyond this number silently; reject.ts counts them and rejects the request.
    server.maxHeadersCount = 0
    attach(server, { connections, handle: handler, drain, rules, onReject, rejectionForm })
    servers.push(server)
    server.once('close', () => clearInterval(timer))
    return server
  }

  return {
    /** Every server that the factory has made: Fastify makes one for each address of `localhost`. */
    servers,
    /**
     * Reads the files of the certificate. Rejects with an Error that names them if they cannot be used. Resolves to the
     * function that puts these settings to use.
     */
    prepareReload: async (next: ListenerSettings): Promise<() => void> => {
      const nextContext = next.tls && (await readCertificate(next.tls))
      return () => {
        rules.current = withRules(next, options)
        for (const server of servers) applySettings(server, next)
        if (nextContext === undefined || isDeepStrictEqual(nextContext, context)) return
        context = nextContext
        for (const server of servers) if (server instanceof TlsServer) server.setSecureContext(nextContext)
        log.info({ cert: next.tls?.cert }, 'certificate changed')
      }
    },
    /**
     * The options of Fastify that put it behind this listener. Fastify adds its handler of client errors beside the one of
     * connections.ts, and two handlers would send two responses.
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
    drain: (drainOptions: DrainingOptions) => drain.run(drainOptions),
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
    // The parser limits URL and headers together; reject.ts checks each against its own limit.
    maxHeaderSize: limits.headers + limits.url,
    // reject.ts rejects a missing Host with a body.
    requireHostHeader: false,
    headersTimeout: Math.min(timeouts.headers, timeouts.body),
    requestTimeout: timeouts.body,
    handshakeTimeout: timeouts.headers,
    keepAliveTimeout: timeouts.idle,
    connectionsCheckingInterval: interval,
  }
}

/** Reads certificate and key and checks that they belong together. */
async function readCertificate({ cert, key }: TlsFiles): Promise<SecureContextOptions> {
  try {
    const context = { cert: await readFile(cert), key: await readFile(key), minVersion: 'TLSv1.2' } as const
    createSecureContext(context)
    return context
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`certificate ${cert} with key ${key} cannot be used: ${reason}; name the two files of one pair`)
  }
}
