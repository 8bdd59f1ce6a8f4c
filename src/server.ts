/**
 * The process: loads the configuration, starts the edge, and shuts it down gracefully. Besides the commands, this is
 * the only file that uses the process and its signals.
 */
import { constants } from 'node:os'
import { buildEdge, type Edge } from './app/index.ts'
import { replicaNameOf } from './app/replica-name.ts'
import type { Deprecation } from './config/deprecated.ts'
import { type LoadResult, loadConfig } from './config/index.ts'
import type { Config } from './config/schema.ts'
import { describeStartError, EXIT_CODES } from './server/exit.ts'
import { createJsonLog, createTextLog, type JsonLog } from './server/logs.ts'

export interface Urls {
  readonly url: string
  readonly operationsUrl: string
}

/** Runs with a configuration file (else `EDGE_CONFIG`, else the environment only). Resolves to the exit code. */
export async function startFromFile(file: string | undefined): Promise<number> {
  const loaded = await loadConfig({ file })
  if (loaded.ok) return run(loaded.config, { ...loaded, load: () => loadConfig({ file }) })
  for (const { message } of loaded.deprecations) process.stderr.write(`warning: ${message}\n`)
  for (const fault of loaded.faults) process.stderr.write(`${fault}\n`)
  return EXIT_CODES.configuration
}

export interface RunOptions {
  /** Loads the configuration again, for reloads. */
  readonly load?: () => Promise<LoadResult>
  /** The files that the configuration was read from. */
  readonly files?: readonly string[]
  /** Settings that have their old name; logged at the start. */
  readonly deprecations?: readonly Deprecation[]
  /** Called when both ports are open. */
  readonly onListening?: (urls: Urls) => void
}

/**
 * Runs until SIGTERM or SIGINT, drains, and resolves to the exit code: 0, or 1 if the edge could not start or
 * connections had to be cut.
 */
export async function run(config: Config, { onListening, ...options }: RunOptions = {}): Promise<number> {
  let edge: Edge
  let urls: Urls
  try {
    edge = await buildEdge(config, {
      logTo: config.log.format === 'text' ? createTextLog(process.stdout) : createFlushedLog(),
      ...options,
    })
    urls = await edge.start()
  } catch (error) {
    process.stderr.write(`manager-edge cannot start: ${describeStartError(error, config)}\n`)
    return EXIT_CODES.failed
  }
  edge.log.info({ ...urls, replica: replicaNameOf(config) }, 'listening')
  onListening?.(urls)
  process.on('SIGHUP', () => void Promise.all([edge.reload(), reopenAudit(edge)]))
  const signal = await firstSignal()
  edge.log.info({ signal, delay: config.listen.drain.delay }, 'draining')
  const isComplete = await edge.drain()
  edge.log.info({ cut: !isComplete }, 'ended')
  return isComplete ? EXIT_CODES.ok : EXIT_CODES.failed
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

/** The last lines are written however the process ends, except by SIGKILL. */
function createFlushedLog(): JsonLog {
  const log = createJsonLog()
  process.once('exit', () => log.flushSync())
  return log
}

/** Resolves at the first signal. A second signal ends the process at once. */
function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals = ['SIGTERM', 'SIGINT'] as const
    let isSignalled = false
    const onSignal = (signal: NodeJS.Signals): void => {
      if (isSignalled) process.exit(128 + constants.signals[signal])
      isSignalled = true
      resolve(signal)
    }
    for (const signal of signals) process.on(signal, onSignal)
  })
}
