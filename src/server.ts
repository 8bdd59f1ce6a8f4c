import { constants } from 'node:os'
import type { DestinationStream } from 'pino'
import { buildEdge, type Edge } from './app/index.ts'
import { type Config, loadConfig } from './config/index.ts'
import { exitCodes, startFault } from './server/exit.ts'
import { jsonLog, textLog } from './server/logs.ts'

/**
 * The process: read the settings, build, listen, drain. The only file that touches the process and its signals.
 */

export interface Urls {
  readonly url: string
  readonly operationsUrl: string
}

/** Runs with a file of settings (else `EDGE_CONFIG`, else the environment alone); gives the exit code at the end. */
export async function startFromFile(file: string | undefined): Promise<number> {
  const loaded = await loadConfig({ file })
  if (loaded.ok) return run(loaded.config, { file: loaded.file })
  for (const fault of loaded.faults) process.stderr.write(`${fault}\n`)
  return exitCodes.settings
}

export interface Running {
  /** The file that the settings came from; its roles are followed. */
  readonly file?: string | undefined
  readonly listening?: (urls: Urls) => void
}

/**
 * Runs until SIGTERM or SIGINT, drains, and gives the exit code: 0, or 1 where it could not start or connections
 * had to be cut. `listening` hears the addresses once both ports are open.
 */
export async function run(config: Config, { file, listening = () => undefined }: Running = {}): Promise<number> {
  let edge: Edge
  let urls: Urls
  try {
    edge = await buildEdge(config, {
      logTo: config.log.format === 'text' ? textLog(process.stdout) : standardOutput(),
      ...(file !== undefined && { settingsFile: file }),
    })
    urls = await edge.start()
  } catch (fault) {
    process.stderr.write(`manager-edge cannot start: ${startFault(fault, config)}\n`)
    return exitCodes.failed
  }
  edge.log.info(urls, 'listening')
  listening(urls)
  const reopen = () => void reopenAudit(edge)
  process.on('SIGHUP', reopen)
  const signal = await firstSignal()
  edge.log.info({ signal, notice: config.listen.drain.notice }, 'draining')
  const whole = await edge.drain()
  edge.log.info({ cut: !whole }, 'ended')
  return whole ? exitCodes.ended : exitCodes.failed
}

/** Whoever rotates the file of the audit has moved it away, and says so by SIGHUP. */
async function reopenAudit(edge: Edge): Promise<void> {
  try {
    await edge.reopenAudit()
    edge.log.info('audit reopened')
  } catch (fault) {
    edge.log.error({ fault: fault instanceof Error ? fault.message : String(fault) }, 'the audit cannot be reopened')
  }
}

/** However the process ends, but by SIGKILL, its last lines are told. */
function standardOutput(): DestinationStream {
  const { stream, flush } = jsonLog()
  process.once('exit', flush)
  return stream
}

/** Resolves at the first signal; from then on a second one ends the process at once. */
function firstSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const signals = ['SIGTERM', 'SIGINT'] as const
    let seen = false
    const onSignal = (signal: NodeJS.Signals): void => {
      if (seen) process.exit(128 + constants.signals[signal])
      seen = true
      resolve(signal)
    }
    for (const signal of signals) process.on(signal, onSignal)
  })
}
