import { readFile, stat } from 'node:fs/promises'
import { createServer as createPlain, type Server as HttpServer, type ServerOptions } from 'node:http'
import { createServer as createTls, Server as TlsServer } from 'node:https'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import type { FastifyServerFactory } from 'fastify'
import { attach } from './connections.ts'
import type { FramingLimits } from './framing.ts'
import type { Gate } from './pipelining-queue.ts'
import type { Stopped } from './reject.ts'

/**
 * The server below the framework: TLS, the strict parser, its limits and its clocks. It hands on only requests
 * that can be read in one way, one at a time for each connection.
 */

export interface ListenerOptions {
  readonly tls?: TlsFiles | undefined
  /** `pipelined`: requests that may wait behind the one at work, on one connection. */
  readonly limits: FramingLimits & { readonly pipelined: number }
  /** Milliseconds. */
  readonly timeouts: {
    /** Until all headers are there. */
    readonly headers: number
    /** Until the whole request is there. */
    readonly body: number
    /** Without progress of a client that reads its answer. */
    readonly write: number
    /** Until the body begins after `100 Continue`. */
    readonly expect: number
    /** Between two requests. */
    readonly idle: number
  }
  /** Names that are served, in lower case, without port; none: all. */
  readonly hosts: readonly string[]
  /** OPTIONS is served (preflights of browsers). */
  readonly cors: boolean
  readonly log: ListenerLog
  /** Hears of each request that gets no further than here. */
  readonly stopped?: (stopped: Stopped) => void
  /** Milliseconds between two looks at slow connections and at the files of the certificate. */
  readonly interval?: number
}

export interface ListenerLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface Listener {
  /** For Fastify's option of the same name. */
  readonly serverFactory: FastifyServerFactory
  /** Every server that the factory has made: Fastify makes one for each address of `localhost`. */
  readonly servers: readonly (HttpServer | TlsServer)[]
  /** Reads the certificate again; `false`: it cannot be used, and the old one stays. */
  reloadTls(): Promise<boolean>
  /** From now on every answer closes its connection. */
  announceClose(): void
  /** Lets requests wait that come from now on. */
  hold(): void
  /** Serves those that waited, and all others again. */
  release(): void
  /** Closes the connections on which nothing is under way, and, after the time for headers, those that are silent. */
  closeIdle(): void
}

/** A limit of time is exceeded by one second at most. */
const INTERVAL = 1000

/** Makes the listener; an unusable certificate is thrown as an Error that names its files. */
export async function createListener(options: ListenerOptions): Promise<Listener> {
  const { tls, log, interval = INTERVAL } = options
  const first = tls && (await readPair(tls))
  if (first && !first.ok) throw new Error(first.fault)
  let context = first?.context
  const servers: (HttpServer | TlsServer)[] = []
  const gates: Gate[] = []

  const reloadTls = async (): Promise<boolean> => {
    if (!tls) return false
    const pair = await readPair(tls)
    if (!pair.ok) {
      log.warn({ cert: tls.cert }, `${pair.fault}; the one before stays in use`)
      return false
    }
    context = pair.context
    for (const server of servers) if (server instanceof TlsServer) server.setSecureContext(context)
    log.info({ cert: tls.cert }, 'certificate changed')
    return true
  }
  const stopWatching = tls ? await watchFiles(tls, reloadTls, interval) : () => undefined

  return {
    servers,
    reloadTls,
    serverFactory: (handler, fastify) => {
      // Fastify adds its own handler to the one of connections.ts; two would answer twice.
      fastify.clientErrorHandler = () => undefined
      const settings = serverOptions(options, interval)
      const server = context ? createTls({ ...settings, ...context }) : createPlain(settings)
      // Node would drop what is beyond this number silently; framing.ts counts and refuses.
      server.maxHeadersCount = 0
      gates.push(attach(server, handler, { ...options, interval }))
      servers.push(server)
      server.once('close', stopWatching)
      return server
    },
    announceClose: () => gates.forEach((gate) => void gate.drain()),
    hold: () => gates.forEach((gate) => void gate.hold()),
    release: () => gates.forEach((gate) => void gate.release()),
    closeIdle: () => {
      for (const server of servers) server.closeIdleConnections()
      // A closed server of Node no longer looks at its limits of time.
      for (const gate of gates) gate.closeIdle(options.timeouts.headers)
    },
  }
}

function serverOptions(
  { limits, timeouts }: ListenerOptions,
  interval: number,
): ServerOptions & { handshakeTimeout: number } {
  return {
    insecureHTTPParser: false,
    // The parser counts the URL and the headers together; framing.ts holds each to its own limit.
    maxHeaderSize: limits.headers + limits.url,
    // Ours answers with a body.
    requireHostHeader: false,
    headersTimeout: Math.min(timeouts.headers, timeouts.body),
    requestTimeout: timeouts.body,
    handshakeTimeout: timeouts.headers,
    keepAliveTimeout: timeouts.idle,
    connectionsCheckingInterval: interval,
  }
}

/** Looks at the files by their state: a watch of the folder misses a symbolic link that is turned. */
async function watchFiles(files: TlsFiles, changed: () => Promise<boolean>, interval: number): Promise<() => void> {
  let seen = await fingerprint(files)
  const look = async (): Promise<void> => {
    const now = await fingerprint(files)
    if (now === seen) return
    seen = now
    await changed()
  }
  let looking = Promise.resolve()
  const timer = setInterval(() => {
    looking = looking.then(look)
  }, interval).unref()
  return () => clearInterval(timer)
}

/** The certificate of the listener and its key, read from files and changed without a restart. */

export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

export type PairResult =
  | { readonly ok: true; readonly context: SecureContextOptions }
  | { readonly ok: false; readonly fault: string }

/** Reads the pair and tries it; a key that does not belong to the certificate is a fault, never a throw. */
export async function readPair({ cert, key }: TlsFiles): Promise<PairResult> {
  try {
    const context = { cert: await readFile(cert), key: await readFile(key), minVersion: 'TLSv1.2' } as const
    createSecureContext(context)
    return { ok: true, context }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    return { ok: false, fault: `certificate ${cert} with key ${key} cannot be used: ${why}` }
  }
}

/** Changes with each change of the files, also where a symbolic link is turned (as Kubernetes does it). */
export async function fingerprint(files: TlsFiles): Promise<string> {
  const parts = await Promise.all([files.cert, files.key].map((file) => stat(file).catch(() => undefined)))
  return parts.map((part) => (part ? `${part.ino}:${part.size}:${part.mtimeMs}` : 'away')).join(' ')
}
