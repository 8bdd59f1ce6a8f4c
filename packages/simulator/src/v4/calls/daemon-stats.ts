/** Counters of daemons, of nodes and of agents. */
import { analysisCounters, remoteCounters } from '../../data/node/statistics.ts'
import type { SimAgent } from '../../model.ts'
import { affected } from '../answers.ts'
import { V4Error } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { hasRelease5 } from '../releases.ts'
import { isActive, isoAt, zuluAt } from '../rows.ts'
import { eachAgent } from './agent-table.ts'
import metrics from './daemon-metrics.json' with { type: 'json' }
import { bothOf } from './manager.ts'

const texts = {
  all: 'Statistical information for each daemon was successfully read',
  some: 'Could not read statistical information for some daemons',
  none: 'Could not read statistical information for any daemon',
}

/** The counters that a node has elsewhere too; others are those of a node with little to do. */
function ofNode(asked: Asked) {
  const { world, node, query } = asked
  const names = membersOf(query.daemons_list)
  const remote = remoteCounters(world, node)
  const analysis = analysisCounters(world, node)
  const own: Readonly<Record<string, object>> = {
    'wazuh-remoted': {
      ...metrics.node['wazuh-remoted'],
      bytes: { received: remote.recv_bytes ?? 0, sent: (remote.msg_sent ?? 0) * 231 },
      tcp_sessions: remote.tcp_sessions ?? 0,
    },
    'wazuh-analysisd': {
      ...metrics.node['wazuh-analysisd'],
      bytes: { received: (analysis.total_events_decoded ?? 0) * 112 },
    },
    'wazuh-db': metrics.node['wazuh-db'],
  }
  const times = { uptime: isoAt(node.startedAt), timestamp: isoAt(world.now()) }
  const renamed = hasRelease5(asked)
    ? (name: string) => name.replace('wazuh-', 'wazuh-manager-')
    : (name: string) => name
  const shown = Object.entries(own).map(([name, metrics]) => ({ ...times, name: renamed(name), metrics }))
  return affected(shown.filter(({ name }) => names?.includes(name) ?? true))
}

function ofAgent(asked: Asked) {
  const { world, node, query, params } = asked
  const { items, failed } = eachAgent(asked, [params.agent_id ?? ''], (agent) => {
    if (!isActive(agent, world.now())) throw new V4Error(1707)
    const names = membersOf(query.daemons_list)
    const uptime = isoAt(node.startedAt)
    const shown = Object.entries(metrics.agent).filter(([name]) => names?.includes(name) ?? true)
    return shown.map(([name, values]) => ({
      timestamp: isoAt(world.now()),
      name,
      agents: [{ uptime, id: Number(agent.id), metrics: values }],
    }))
  })
  return affected(items.flat(), { failed })
}

/** What an agent itself reports: its connection, or what it reads. */
function ofComponent(asked: Asked) {
  const { world, params } = asked
  const itemOf = (agent: SimAgent) => {
    if (agent.id === '000') throw new V4Error(1310)
    if (!isActive(agent, world.now()) || agent.lastKeepAlive === undefined) throw new V4Error(1740)
    const seen = zuluAt(agent.lastKeepAlive)
    if (params.component === 'agent') {
      const counts = { msg_count: 56, msg_sent: 421, msg_buffer: 0, buffer_enabled: true }
      return { status: 'connected', last_keepalive: seen, last_ack: seen, ...counts }
    }
    const files = [{ location: '/var/log/syslog', events: 128, bytes: 13_312, targets: [{ name: 'agent', drops: 0 }] }]
    const period = { start: seen, end: seen, files }
    return { global: period, interval: period }
  }
  return eachAgent(asked, [params.agent_id ?? ''], itemOf, 'allowed')
}

const agentNeed = { action: 'agent:read', type: 'agent:id', named: { in: 'path', as: 'agent_id' } } as const

export const daemonStatCalls: readonly Call[] = [
  ...bothOf({ path: '/daemons/stats', texts, run: ofNode }),
  { method: 'GET', path: '/agents/{agent_id}/daemons/stats', runs: 'owner', needs: [agentNeed], texts, run: ofAgent },
  {
    method: 'GET',
    path: '/agents/{agent_id}/stats/{component}',
    runs: 'owner',
    needs: [agentNeed],
    texts: {
      all: 'Statistical information for each agent was successfully read',
      some: 'Could not read statistical information for some agents',
      none: 'Could not read statistical information for any agent',
    },
    run: ofComponent,
  },
]
