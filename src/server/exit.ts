/** The signals of the operator, and how the process ends: its exit codes, and the message of a failed start. */
import { constants } from 'node:os'
import type { Edge } from '../app/index.ts'
import type { Config } from '../config/schema.ts'

/** Exit codes of the process. A second signal n ends it with 128 + n. */
export const EXIT_CODES = { ok: 0, failed: 1, configuration: 2 } as const

type Address = Pick<Config['operations'], 'host' | 'port'>
type Listeners = { readonly listen: Address; readonly operations: Address }

/** The demo does not read the environment, so its ports are options. */
const DEMO_OPTIONS = { listen: '--port', operations: '--operations-port' } as const

/** Returns one line with the reason why the edge cannot start, and a remedy. */
export function describeStartError(error: unknown, config: Listeners): string {
  const { code, port, address, message } = error as { code?: string; port?: number; address?: string; message?: string }
  const listener = port === config.operations.port && port !== config.listen.port ? 'operations' : 'listen'
  const where = `${listener}.port: ${address ?? config[listener].host}:${port ?? config[listener].port}`
  switch (code) {
    case 'EADDRINUSE': {
      const other = `${variableOf(listener, 'PORT')}, or demo ${DEMO_OPTIONS[listener]}`
      return `${where} is in use; stop the process that listens there, or choose another port (${other})`
    }
    case 'EACCES':
      if (port !== undefined) return `${where} is not allowed for this user; choose a port above 1023`
      break
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      if (address !== undefined) {
        const remedy = `choose an address of this machine (${variableOf(listener, 'HOST')})`
        return `${listener}.host: this machine has no address ${address}; ${remedy}`
      }
  }
  return toOneLine(message ?? String(error))
}

function variableOf(group: string, leaf: string): string {
  return `EDGE_${group.toUpperCase()}_${leaf}`
}

function toOneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

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
