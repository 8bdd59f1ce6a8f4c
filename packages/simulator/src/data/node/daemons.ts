/** The daemons of a node and their status. */
import type { SimNode, World } from '../../model.ts'

const daemons = [
  'ossec-agentlessd',
  'ossec-analysisd',
  'ossec-authd',
  'ossec-csyslogd',
  'ossec-dbd',
  'ossec-monitord',
  'ossec-execd',
  'ossec-integratord',
  'ossec-logcollector',
  'ossec-maild',
  'ossec-remoted',
  'ossec-reportd',
  'ossec-syscheckd',
  'wazuh-clusterd',
  'wazuh-modulesd',
  'wazuh-db',
] as const

export type Daemon = (typeof daemons)[number]

const neverUsed: ReadonlySet<Daemon> = new Set(['ossec-dbd', 'ossec-reportd'])
/** Daemons of the master only: registration and outgoing messages. */
const onMaster: ReadonlySet<Daemon> = new Set([
  'ossec-agentlessd',
  'ossec-authd',
  'ossec-csyslogd',
  'ossec-integratord',
  'ossec-maild',
])

/** Returns whether the daemon is configured on a node of this type. */
export function isUsed(daemon: Daemon, type: SimNode['type']): boolean {
  return !neverUsed.has(daemon) && (type === 'master' || !onMaster.has(daemon))
}

/** Returns the status by daemon. While a node restarts, the daemons that will run are `restarting`. */
export function daemonStates(world: World, node: SimNode): Record<string, string> {
  const up = node.startedAt > world.now() ? 'restarting' : 'running'
  return Object.fromEntries(
    daemons.map((daemon) => {
      if (daemon === 'wazuh-clusterd' && node.clusterDaemonDown === true) return [daemon, 'stopped']
      return [daemon, isUsed(daemon, node.type) ? up : 'stopped']
    }),
  )
}
