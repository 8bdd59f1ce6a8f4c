/**
 * The server below Fastify: TLS with certificates that can change at run time, the strict HTTP parser, its limits and
 * timeouts. It passes on only unambiguous requests, one at a time for each connection.
 */
import { readFile, stat } from 'node:fs/promises'
import { createServer as createHttpServer, type Server as HttpServer, type ServerOptions } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { FastifyServerFactory } from 'fastify'
import type { ListenerOptions, ListenerSettings, TlsFiles } from './connections.ts'
import { attach, type ConnectionRules, connectionRulesOf } from './connections.ts'
import type { PipeliningQueue } from './pipelining-queue.ts'

export interface Listener {
  /** For Fastify's option of the same name. */
  readonly serverFactory: FastifyServerFactory
  /** Every server that the factory has made: Fastify makes one for each address of `localhost`. */
  readonly servers: readonly (HttpServer | TlsServer)[]
  /**
   * Checks changed files of the certificate. Rejects with an Error that names them if they cannot be used. Resolves to
   * the function that puts these settings to use.
   */
  prepareReload(next: ListenerSettings): Promise<() => void>
  /** Reads the certificate again; `false`: it cannot be used, and the old one stays in use. */
  reloadTls(): Promise<boolean>
  /** Closes the connection whose socket has failed with this error. Returns `false` if there is none. */
  closeFailedConnection(error: unknown): boolean
  /** From now on, each response closes its connection. */
  announceClose(): void
  /** Requests that arrive from now on wait until `resume`. */
  pause(): void
  resume(): void
  /** Closes idle connections and, after the timeout for headers, those that have sent no complete request. */
  closeIdle(): void
  closeAll(): void
}

/** Timeouts are exceeded by at most one second. */
const CHECK_INTERVAL_MS = 1000

/** Makes the listener. If the certificate cannot be used, throws an Error that names its files. */
export async function createListener(options: ListenerOptions): Promise<Listener> {
  const { log, cors, onReject, interval = CHECK_INTERVAL_MS } = options
  let { tls } = options
  const first = tls && (await readCertificate(tls))
  if (first && !first.ok) throw new Error(first.fault)
  let context = first?.context
  const servers: (HttpServer | TlsServer)[] = []
  const queues: PipeliningQueue[] = []
  let rules = connectionRulesOf(options, cors)

  const useContext = (next: SecureContextOptions): void => {
    context = next
    for (const server of servers) if (server instanceof TlsServer) server.setSecureContext(next)
  }
  /** Logged once, however often the files change. */
  let lastFault: string | undefined
  const reloadTls = async (): Promise<boolean> => {
    if (!tls) return false
    const read = await readCertificate(tls)
    if (!read.ok) {
      if (read.fault !== lastFault) log.warn({ cert: tls.cert }, `${read.fault}; the one before stays in use`)
      lastFault = read.fault
      return false
    }
    lastFault = undefined
    useContext(read.context)
    log.info({ cert: tls.cert }, 'certificate changed')
    return true
  }
  const stopWatching = tls ? await watchFiles(() => tls, reloadTls, interval) : () => undefined

  return {
    servers,
    reloadTls,
    prepareReload: async (next) => {
      const nextTls = next.tls
      const isChanged = tls && nextTls && (tls.cert !== nextTls.cert || tls.key !== nextTls.key)
      const read = isChanged ? await readCertificate(nextTls) : undefined
      if (read?.ok === false) throw new Error(read.fault)
      return () => {
        if (read) {
          tls = nextTls
          useContext(read.context)
        }
        rules = connectionRulesOf(next, cors)
        for (const server of servers) applyRules(server, rules)
      }
    },
    serverFactory: (handler, fastify) => {
      // Fastify adds this handler beside the one of connections.ts. Two handlers would send two responses.
      fastify.clientErrorHandler = () => undefined
      const settings = serverOptions(rules, interval)
      const server = context ? createTlsServer({ ...settings, ...context }) : createHttpServer(settings)
      // Node would drop headers beyond this number silently; framing.ts counts them and rejects the request.
      server.maxHeadersCount = 0
      queues.push(attach(server, handler, { interval, rules: () => rules, ...(onReject && { onReject }) }))
      servers.push(server)
      server.once('close', stopWatching)
      return server
    },
    closeFailedConnection: (error) => queues.some((queue) => queue.closeFailed(error)),
    announceClose: () => queues.forEach((queue) => void queue.drain()),
    pause: () => queues.forEach((queue) => void queue.pause()),
    resume: () => queues.forEach((queue) => void queue.resume()),
    closeIdle: () => {
      for (const server of servers) server.closeIdleConnections()
      // A server of Node that is closed no longer checks its timeouts.
      for (const queue of queues) queue.closeIdle(rules.timeouts.headers)
    },
    closeAll: () => {
      for (const server of servers) server.closeAllConnections()
      for (const queue of queues) queue.closeAll()
    },
  }
}

/** Node reads these properties for each connection, or each second. */
function applyRules(server: HttpServer | TlsServer, rules: ConnectionRules): void {
  const { maxHeaderSize, headersTimeout, requestTimeout, keepAliveTimeout } = serverOptions(rules, 0)
  Object.assign(server, { maxHeaderSize, headersTimeout, requestTimeout, keepAliveTimeout })
}

function serverOptions(
  { limits, timeouts }: ConnectionRules,
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

type Certificate =
  | { readonly ok: true; readonly context: SecureContextOptions }
  | { readonly ok: false; readonly fault: string }

/** Reads certificate and key and checks that they belong together. Does not throw. */
async function readCertificate({ cert, key }: TlsFiles): Promise<Certificate> {
  try {
    const context = { cert: await readFile(cert), key: await readFile(key), minVersion: 'TLSv1.2' } as const
    createSecureContext(context)
    return { ok: true, context }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    return { ok: false, fault: `certificate ${cert} with key ${key} cannot be used: ${why}` }
  }
}

/** Compares the state of the files: a watch on their folder misses a symbolic link that is changed (Kubernetes). */
async function watchFiles(
  files: () => TlsFiles | undefined,
  changed: () => Promise<boolean>,
  interval: number,
): Promise<() => void> {
  let last = await fingerprint(files())
  const check = async (): Promise<void> => {
    const now = await fingerprint(files())
    if (now === last) return
    last = now
    await changed()
  }
  let checking = Promise.resolve()
  const timer = setInterval(() => {
    checking = checking.then(check)
  }, interval).unref()
  return () => clearInterval(timer)
}

/** Changes with each change of the files, or of a symbolic link that leads to them. */
async function fingerprint(files: TlsFiles | undefined): Promise<string> {
  if (files === undefined) return ''
  const parts = await Promise.all([files.cert, files.key].map((file) => stat(file).catch(() => undefined)))
  return parts.map((part) => (part ? `${part.ino}:${part.size}:${part.mtimeMs}` : 'missing')).join(' ')
}
