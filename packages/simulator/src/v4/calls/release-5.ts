/** What release 5.0 has in place of calls of releases 4, and new: commands to agents and nodes are tasks. */
import type { SimAgent } from '../../model.ts'
import { type Affected, affected } from '../answers.ts'
import { V4Error } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { isBefore, releaseOf } from '../rows.ts'
import { agentFilters, eachAgent, filterAgents } from './agent-table.ts'
import { requireGroup } from './group-members.ts'
import { defaults } from './node-state.ts'

type Command = 'restart' | 'reload'
const TITLES = { restart: 'Restart', reload: 'Reload' } as const

/** The task is made for an agent in any state; agents of earlier releases do not take it. */
function taskFor(command: Command) {
  return (agent: SimAgent): string => {
    if (isBefore(releaseOf(agent) ?? [0], [5, 0, 0])) throw new V4Error(1761)
    if (command === 'restart') agent.restarts += 1
    return agent.id
  }
}

/** Every node gets the order, and leaves out agents that are unknown or not allowed. */
function listedAgents({ world, query, allows }: Asked): SimAgent[] {
  const names = membersOf(query.agents_list)
  const all = names === undefined || names.includes('all')
  const agents = all ? [...world.agents.values()] : names.flatMap((id) => world.agents.get(id) ?? [])
  return agents.filter(allows)
}

const idsOf = (agents: readonly SimAgent[]) => agents.map(({ id }) => id)

/** A user who may command no member is refused. */
function membersOfGroup(asked: Asked): string[] {
  const { name } = requireGroup(asked, asked.params.group_id ?? '', '')
  const members = [...asked.world.agents.values()].filter(({ groups }) => groups.includes(name))
  const allowed = members.filter((agent) => asked.allows(agent))
  if (members.length > 0 && allowed.length === 0) {
    const error = new V4Error(4000, 'Resource type: agent:id')
    throw Object.assign(error, { nodes: { 'unknown-node': error.message } })
  }
  return idsOf(allowed)
}

const textsOf = (command: Command) => ({
  all: `${TITLES[command]} command was sent to all agents`,
  some: `${TITLES[command]} command was not sent to some agents`,
  none: `${TITLES[command]} command was not sent to any agent`,
})

function agentCallsOf(command: Command): Call[] {
  const call = { method: 'PUT', texts: textsOf(command), runs: 'master' } as const
  const action = { action: `agent:${command}`, type: 'agent:id' } as const
  const unnamed = [{ ...action, named: 'none' }] as const
  const task = taskFor(command)
  return [
    {
      ...call,
      path: `/agents/${command}`,
      needs: unnamed,
      run: (asked) => eachAgent(asked, idsOf(listedAgents(asked)), task),
    },
    {
      ...call,
      path: `/agents/{agent_id}/${command}`,
      needs: [{ ...action, named: { in: 'path', as: 'agent_id' } }],
      run: (asked) => eachAgent(asked, [asked.params.agent_id ?? ''], task),
    },
    {
      ...call,
      path: `/agents/group/{group_id}/${command}`,
      needs: unnamed,
      run: (asked) => eachAgent(asked, membersOfGroup(asked), task),
    },
  ]
}

/** A fault of the release: a master that is named beside others counts as affected and as unknown. */
function nodeCallOf(command: Command): Call {
  return {
    method: 'PUT',
    path: `/cluster/${command}`,
    acceptedSince: 0,
    runs: 'nodes',
    needs: [{ action: 'cluster:restart', type: 'node:id', named: { in: 'query', as: 'nodes_list' } }],
    texts: {
      all: `${TITLES[command]} request sent to all specified nodes`,
      some: `Could not send ${command} request to some specified nodes`,
      none: `Could not send ${command} request to any node`,
    },
    duringRestart: true,
    run: ({ world, node, query }) => {
      if (command === 'restart') {
        node.restarts += 1
        node.startedAt = new Date(world.now().getTime() + (world.restartTakes ?? 0))
      }
      const isNamedTwice = node.type === 'master' && query.nodes_list?.includes(',') === true
      return affected([node.name], { failed: isNamedTwice ? [{ id: node.name, error: new V4Error(1730) }] : [] })
    },
  }
}

/** The state of an agent does not count, and no task has a number. */
function upgrade(asked: Asked): Affected {
  const { query } = asked
  const filters = agentFilters.filter((name) => query[name] !== undefined)
  const named = listedAgents(asked)
  const found = filterAgents(named, { ...asked, query: Object.fromEntries(filters.map((f) => [f, query[f] ?? ''])) })
  const isUpgradable = ({ version }: SimAgent) => version !== undefined
  return eachAgent(asked, idsOf(found.filter(isUpgradable)), ({ id }) => id)
}

const READY = { ready: true, running: true } as const
const DAEMONS = ['analysisd', 'authd', 'monitord', 'remoted', 'clusterd'] as const
const MODULES = ['inventory-sync', 'content-manager', 'task-manager'] as const

function status({ node }: Asked) {
  const others = Object.fromEntries(MODULES.map((name) => [name, { available: true }]))
  const modules = { 'vulnerability-detector': { available: true, status: 'ready' }, ...others }
  return affected([
    {
      ...Object.fromEntries(DAEMONS.map((name) => [`wazuh-manager-${name}`, READY])),
      'wazuh-manager-modulesd': { ...READY, modules },
      'wazuh-manager-db': READY,
      ...(node.type === 'master' && { 'wazuh-manager-apid': READY }),
      ready: true,
    },
  ])
}

function information({ world, node }: Asked) {
  const version = `v${node.version ?? world.version}`
  const place = { tz_offset: '+0000', tz_name: 'UTC' }
  return affected([{ path: '/var/wazuh-manager', version, type: 'server', max_agents: 'unlimited', ...place }])
}

const CERTIFICATES = '/var/wazuh-manager/etc/certs'

function apiConfiguration({ node }: Asked) {
  const { hostname, port, protocol } = new URL(node.url)
  return affected([
    {
      node_name: node.name,
      node_api_config: {
        host: [hostname],
        port: Number(port),
        drop_privileges: true,
        max_upload_size: 10_485_760,
        authentication_pool_size: 2,
        intervals: { request_timeout: 10 },
        https: {
          enabled: protocol === 'https:',
          key: `${CERTIFICATES}/apid-key.pem`,
          cert: `${CERTIFICATES}/apid.pem`,
          use_ca: false,
          ca: `${CERTIFICATES}/root-ca.pem`,
          ssl_ciphers: '',
        },
        logs: { level: 'info', format: 'plain', max_size: { enabled: false, size: '1M' } },
        ...defaults,
        upload_configuration: { agents: { allow_higher_versions: { allow: true } }, indexer: { allow: true } },
      },
    },
  ])
}

const upgrades = {
  run: upgrade,
  runs: 'master',
  needs: [{ action: 'agent:upgrade', type: 'agent:id', named: 'none' }],
} as const
const commandsOf5 = [...agentCallsOf('restart'), ...agentCallsOf('reload'), nodeCallOf('restart'), nodeCallOf('reload')]
const isNew = ({ path }: Call) => path.endsWith('/reload')

export const newCallsOf5: readonly Call[] = commandsOf5.filter(isNew)

/** What release 5.0 changes of calls, by method and path. */
export const changesOf5: Readonly<Record<string, Partial<Call>>> = {
  ...Object.fromEntries(commandsOf5.map((call) => [`${call.method} ${call.path}`, call])),
  // A long search does not keep this release busy.
  'GET /agents': { hangsOver: Number.POSITIVE_INFINITY },
  'GET /cluster/{node_id}/status': {
    run: status,
    texts: {
      all: 'Node status was successfully read in specified node',
      some: 'Could not read basic information in some nodes',
      none: 'Could not read node status in specified node',
    },
  },
  'GET /cluster/{node_id}/info': { run: information },
  'GET /cluster/api/config': { run: apiConfiguration },
  'PUT /agents/upgrade': upgrades,
  'PUT /agents/upgrade_custom': upgrades,
}
