/**
 * Decides about errors that no code has handled. An error of a single connection ends that connection only: it is logged
 * and counted, and an alert fires, because it shows a defect. Every other error ends the process, as it does in Node
 * without this module, because the state of the process may be wrong.
 */
import { writeSync } from 'node:fs'
import type { Edge } from '../app/index.ts'
import { EXIT_CODES } from './exit.ts'

/**
 * Codes of the system that only a connection has. `EPIPE` is none of them: the reader of the log can have closed its pipe. A
 * connection with `EPIPE` is found by `closeFailedConnection`.
 */
const SYSTEM_CODES: ReadonlySet<unknown> = new Set([
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTCONN',
  'ETIMEDOUT',
])
/** The system calls of a connection; `listen` and `accept` concern a port. */
const CONNECTION_CALLS: ReadonlySet<unknown> = new Set(['connect', 'read', 'shutdown', 'write', 'writev'])
/** Errors of TLS, of Node's HTTP parser, of streams (the edge writes no file through a stream) and of undici. */
const CODES_OF_STREAMS = /^(?:ERR_SSL_|ERR_TLS_|HPE_|ERR_STREAM_|UND_ERR_)/

/**
 * Members of errors with bytes of a request, a response or a command: passwords, tokens, keys of agents. Parsers of HTTP
 * (Node, undici) and ioredis add them, and the log has every enumerable member of an error.
 */
const MEMBERS_WITH_BYTES = ['rawPacket', 'data', 'command']

/** Guards the process from now on. Call it once. */
export function guardProcess(edge: Pick<Edge, 'log' | 'closeFailedConnection' | 'countUncaughtError'>): void {
  // Node passes unhandled rejections to these listeners too.
  process.on('uncaughtException', (error: unknown, origin) => {
    hideBytes(error)
    const wasFound = edge.closeFailedConnection(error)
    if (wasFound || isConnectionError(error)) {
      edge.countUncaughtError(codeOf(error))
      edge.log.error({ err: error, origin }, 'uncaught error of a connection')
      return
    }
    edge.log.fatal({ err: error, origin }, 'uncaught error')
    writeSync(process.stderr.fd, `${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(EXIT_CODES.failed)
  })
}

function hideBytes(error: unknown): void {
  if (!(error instanceof Error)) return
  for (const name of MEMBERS_WITH_BYTES) {
    if (Object.hasOwn(error, name)) Object.defineProperty(error, name, { enumerable: false })
  }
}

/** Returns whether the code of the error belongs to a single connection or stream. */
function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as NodeJS.ErrnoException
  if (typeof code !== 'string') return false
  return CODES_OF_STREAMS.test(code) || (SYSTEM_CODES.has(code) && CONNECTION_CALLS.has(syscall))
}

function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' ? code : 'unknown'
}
