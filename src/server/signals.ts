/** What the signals of the operator do. */
import { constants } from 'node:os'
import type { Edge } from '../app/index.ts'

/** Resolves at the first signal. A second signal ends the process at once, after `beforeExit`. */
export function firstSignal(beforeExit: () => void = () => undefined): Promise<NodeJS.Signals> {
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

/** Reloads the configuration and opens the audit file again. Failures are logged. */
export async function reloadAll(edge: Edge): Promise<void> {
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
