/** Starts the edge and shuts it down gracefully. */

import type { Edge, Urls } from './app/edge.ts'
import { buildEdge, type EdgeOptions } from './app/index.ts'
import { replicaNameOf } from './app/process.ts'
import type { Config } from './config/schema.ts'
import {
  describeStartError,
  EXIT_CODES,
  endDuringStart,
  firstSignal,
  guardProcess,
  reloadOnSignal,
} from './server/exit.ts'
import { createProcessLog } from './server/logs.ts'

export type { Urls } from './app/edge.ts'

export interface RunOptions extends Pick<EdgeOptions, 'load' | 'files' | 'warnings'> {
  /** Called when both ports are open. */
  readonly onListening?: (urls: Urls) => void
  /** The result of `reloadOnSignal`, if the caller has called it before it read the configuration. */
  readonly reloadWith?: (edge: Edge) => void
}

/**
 * Runs until SIGTERM or SIGINT, drains, and resolves to the exit code: 0, or 1 if the edge could not start or
 * connections had to be cut.
 */
export async function run(
  config: Config,
  { onListening, reloadWith = reloadOnSignal(), ...options }: RunOptions = {},
): Promise<number> {
  let edge: Edge | undefined
  let urls: Urls
  // As process 1 of a container, Node ignores a signal that has no listener.
  const signalled = firstSignal(() => edge?.flushLog())
  const onStartOver = endDuringStart(signalled)
  try {
    edge = await buildEdge(config, {
      logTo: createProcessLog(config.log.format),
      ...options,
    })
    guardProcess(edge)
    urls = await edge.start()
  } catch (error) {
    process.stderr.write(`manager-edge cannot start: ${describeStartError(error, config)}\n`)
    return EXIT_CODES.failed
  }
  edge.log.info({ ...urls, replica: replicaNameOf(config) }, 'listening')
  onStartOver()
  onListening?.(urls)
  reloadWith(edge)
  const signal = await signalled
  edge.log.info({ signal, delay: config.listen.drain.delay }, 'draining')
  const isComplete = await edge.drain()
  edge.log.info({ cut: !isComplete }, 'ended')
  return isComplete ? EXIT_CODES.ok : EXIT_CODES.failed
}
