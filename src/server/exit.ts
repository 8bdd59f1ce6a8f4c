import type { Config } from '../config/index.ts'

/** What the process ends with; 128 + n where signal n came a second time. */
export const exitCodes = { ended: 0, failed: 1, settings: 2 } as const

/** Why the edge could not start, in one line that says what to do. */

type Place = Pick<Config['operations'], 'host' | 'port'>
type Listening = { readonly listen: Place; readonly operations: Place }

/** The demo reads no settings of the environment. */
const demoOption = { listen: '--port', operations: '--operations-port' } as const

/** `fault` is what was thrown; `config` tells which setting an address belongs to. */
export function startFault(fault: unknown, config: Listening): string {
  const { code, port, address, message } = fault as { code?: string; port?: number; address?: string; message?: string }
  const which = port === config.operations.port && port !== config.listen.port ? 'operations' : 'listen'
  const where = `${which}.port: ${address ?? config[which].host}:${port ?? config[which].port}`
  switch (code) {
    case 'EADDRINUSE':
      return `${where} is taken; stop the process that listens there, or choose another port (${variable(which, 'PORT')}, or demo ${demoOption[which]})`
    case 'EACCES':
      if (port !== undefined) return `${where} may not be used by this user; choose a port above 1023`
      break
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      if (address !== undefined) {
        return `${which}.host: this machine has no address ${address}; choose one of its own (${variable(which, 'HOST')})`
      }
  }
  return oneLine(message ?? String(fault))
}

function variable(group: string, leaf: string): string {
  return `EDGE_${group.toUpperCase()}_${leaf}`
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ').trim()
}
