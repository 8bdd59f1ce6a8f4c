/** Counters of daemons, of nodes and of agents. */
import { analysisCounters, remoteCounters } from '../../data/node/statistics.ts'
import { affected } from '../answers.ts'
import { NewerError } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { isActive } from '../rows.ts'
import { canonical } from './agent-table.ts'
import metrics from './daemon-metrics.json' with { type: 'json' }
import { bothOf } from './manager.ts'

const texts = {
  all: 'Statistical information for each daemon was successfully read',
  some: 'Could not read statistical information for some daemons',
  none: 'Could not read statistical information for any daemon',
}

const iso = (time: Date) => `${time.toISOString().slice(0, 19)}+00:00`

/** The counters that a node has elsewhere too; others are those of a node with little to do. */
function ofNode({ world, node, query }: Asked) {
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
  const times = { uptime: iso(node.startedAt), timestamp: iso(world.now()) }
  const shown = Object.entries(own).filter(([name]) => names?.includes(name) ?? true)
  return affected(shown.map(([name, values]) => ({ ...times, name, metrics: values })))
}

function ofAgent({ world, node, query, params }: Asked) {
  const id = params.agent_id ?? ''
  const agent = world.agents.get(canonical(id))
  const fails = (code: 1701 | 1703 | 1707) => affected([], { failed: [{ id, error: new NewerError(code) }] })
  if (agent === undefined) return fails(1701)
  if (agent.id === '000') return fails(1703)
  if (!isActive(agent, world.now())) return fails(1707)
  const names = membersOf(query.daemons_list)
  const uptime = iso(node.startedAt)
  const shown = Object.entries(metrics.agent).filter(([name]) => names?.includes(name) ?? true)
  return affected(
    shown.map(([name, values]) => ({
      timestamp: iso(world.now()),
      name,
      agents: [{ uptime, id: Number(agent.id), metrics: values }],
    })),
  )
}

/** What an agent itself reports: its connection, or what it reads. */
function ofComponent({ world, params }: Asked) {
  const id = params.agent_id ?? ''
  const agent = world.agents.get(canonical(id))
  const fails = (code: 1310 | 1701 | 1740) => affected([], { failed: [{ id, error: new NewerError(code) }] })
  if (agent === undefined) return fails(1701)
  if (agent.id === '000') return fails(1310)
  if (!isActive(agent, world.now()) || agent.lastKeepAlive === undefined) return fails(1740)
  const seen = `${agent.lastKeepAlive.toISOString().slice(0, 19)}Z`
  if (params.component === 'agent') {
    const counts = { msg_count: 56, msg_sent: 421, msg_buffer: 0, buffer_enabled: true }
    return affected([{ status: 'connected', last_keepalive: seen, last_ack: seen, ...counts }])
  }
  const files = [{ location: '/var/log/syslog', events: 128, bytes: 13_312, targets: [{ name: 'agent', drops: 0 }] }]
  const period = { start: seen, end: seen, files }
  return affected([{ global: period, interval: period }])
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
