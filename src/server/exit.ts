/**
 * The signals of the operator, and how the process ends: its exit codes, the message of a failed start, and errors that
 * no code has handled. An error of a single connection ends that connection only: it is logged and counted, and an
 * alert fires, because it shows a defect. Every other error ends the process, as it does in Node without this module,
 * because the state of the process may be wrong.
 */
import { writeSync } from 'node:fs'
import { constants } from 'node:os'
import type { Edge } from '../app/edge.ts'
import { toVariable } from '../config/environment.ts'
import type { Config } from '../config/schema.ts'

/** Exit codes of the process. A second signal n ends it with 128 + n. */
export const EXIT_CODES = { ok: 0, failed: 1, configuration: 2 } as const

type Address = Pick<Config['operations'], 'host' | 'port'>
type Listeners = {
  readonly listen: Address & { readonly secondPort?: number | undefined }
  readonly operations: Address
}

/** The demo does not read the environment, so its ports are options. */
const DEMO_OPTIONS = {
  'listen.port': '--port',
  'listen.secondPort': '--v4-port',
  'operations.port': '--operations-port',
}

/** Returns one line with the reason why the edge cannot start, and a remedy. */
export function describeStartError(error: unknown, config: Listeners): string {
  const { code, port, address, message } = error as { code?: string; port?: number; address?: string; message?: string }
  const isOperations = port === config.operations.port && port !== config.listen.port
  const listener = isOperations ? 'operations' : 'listen'
  const isSecond = !isOperations && port !== undefined && port === config.listen.secondPort
  const setting = isSecond ? 'listen.secondPort' : (`${listener}.port` as const)
  const where = `${setting}: ${address ?? config[listener].host}:${port ?? config[listener].port}`
  switch (code) {
    case 'EADDRINUSE': {
      const other = `${toVariable(setting.split('.'))}, or demo ${DEMO_OPTIONS[setting]}`
      return `${where} is in use; stop the process that listens there, or choose another port (${other})`
    }
    case 'EACCES':
      if (port !== undefined) return `${where} is not allowed for this user; choose a port above 1023`
      break
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      if (address !== undefined) {
        const remedy = `choose an address of this machine (${toVariable([listener, 'host'])})`
        return `${listener}.host: this machine has no address ${address}; ${remedy}`
      }
  }
  return toOneLine(message ?? String(error))
}

function toOneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

/** Resolves at the first signal. A second signal ends the process at once, after `beforeExit`. */
export function firstSignal(beforeExit: () => void): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals = ['SIGTERM', 'SIGINT'] as const
    let isSignalled = false
    const onSignal = (signal: NodeJS.Signals): void => {
      if (isSignalled) {
        beforeExit()
        process.exit(128 + constants.signals[signal])
      }
      isSignalled = true
      resolve(signal)
    }
    for (const signal of signals) process.on(signal, onSignal)
  })
}

/**
 * Ends the process if it is asked to end while it starts: with exit code 0, or with that of a failed start. Then no request is
 * in flight, and what the process has in Redis expires. Returns the function to call when the process listens.
 */
export function endDuringStart(request: Promise<unknown>): () => void {
  let isStarting = true
  void request.then(() => {
    if (isStarting) process.exit(process.exitCode ?? EXIT_CODES.ok)
  })
  return () => {
    isStarting = false
  }
}

/**
 * Reloads at each SIGHUP. Without a listener, the signal would end the process. Returns the function to call when the edge
 * listens: the edge reloads then if a signal came before.
 */
export function reloadOnSignal(): (edge: Edge) => void {
  let started: Edge | undefined
  let isWanted = false
  process.on('SIGHUP', () => {
    if (started === undefined) isWanted = true
    else void reloadAll(started)
  })
  return (edge) => {
    started = edge
    if (isWanted) void reloadAll(edge)
  }
}

/** Reloads the configuration and opens the audit file again. Failures are logged. */
async function reloadAll(edge: Edge): Promise<void> {
  await Promise.all([edge.reload(), reopenAudit(edge)])
}

/** A program that rotates the audit file moves it and then sends SIGHUP. */
async function reopenAudit(edge: Edge): Promise<void> {
  try {
    await edge.reopenAudit()
    edge.log.info('audit reopened')
  } catch (error) {
    edge.log.error({ fault: error instanceof Error ? error.message : String(error) }, 'the audit cannot be reopened')
  }
}

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
      edge.countUncaughtError(errorCodeOf(error))
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

function errorCodeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' ? code : 'unknown'
}
