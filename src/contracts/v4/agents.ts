/** Records of agents: reads, writes, and commands on them. Over 200 lines: a table of records. */
import type { Param, Tag, V4Endpoint } from '../endpoint.ts'
import { cacheIn, wholeAgent as dataOfAgent, liveAgents, memberships, overAllAgents } from '../schemas/shared.ts'
import { agentFilters, agentStatus, agentsOrAll, param, query, required, rows, word } from './parameters.ts'
import { json, master, read, write } from './shared.ts'
import { bool, list, object, oneOf, since, text } from './value.ts'

const reading = {
  permission: 'agents:read',
  rights: ['agent:read on agent:id:{agent_list}'],
} as const
const ofOwner = { ...reading, target: master('agentOwner') } as const
const ofOne = cacheIn('agents', 'agent:{agent_id}', 'agent:*')
const ofAll = cacheIn('agents', 'collection:agents', 'collection:groups')
const counting = { ...reading, cache: cacheIn('summary', 'collection:agents', 'collection:groups') } as const

export const agentReads: readonly V4Endpoint[] = [
  read('/agents', 'List agents', {
    ...reading,
    query: query(
      ...rows,
      agentFilters,
      'agents_list',
      'select',
      { status: agentStatus },
      'q',
      {
        older_than: param('last seen before', text('timeframe')),
        group_config_status: param('whether the agents have the configuration of their groups', {
          ...oneOf('synced', 'not synced'),
          releases: { since: '4.5', until: '4.14' },
        }),
      },
      'distinct@4.7',
    ),
    cache: ofAll,
    snapshot: 'agents',
  }),
  read('/agents/:agent_id/config/:component/:configuration', 'Get the active configuration of an agent', {
    ...ofOwner,
    secret: 'possible',
    cache: { never: 'settings may contain keys and credentials' },
  }),
  read('/agents/:agent_id/group/is_sync', 'Check whether an agent has the configuration of its groups', {
    ...reading,
    cache: cacheIn('agents', 'agent:{agent_id}', 'agent:*', 'collection:groups'),
  }),
  read('/agents/:agent_id/key', 'Get the key of an agent', {
    ...reading,
    secret: 'always',
    cache: { never: 'the response is the key of an agent' },
  }),
  read('/agents/:agent_id/stats/:component', 'Get the statistics of a component of an agent', {
    ...ofOwner,
    params: { component: param('component of the agent', oneOf('logcollector', 'agent')) },
    cache: ofOne,
  }),
  read('/agents/upgrade_result', 'Get the results of upgrades of agents', {
    ...reading,
    permission: 'agents:upgrade',
    rights: ['agent:upgrade on agent:id:{agent_list}'],
    query: query(agentFilters, 'agents_list', 'q'),
    cache: { never: 'the state of running tasks' },
  }),
  read('/agents/no_group', 'List agents without a group', {
    ...reading,
    query: query(...rows, 'select', 'q'),
    cache: ofAll,
    snapshot: 'agents',
  }),
  read('/agents/outdated', 'List outdated agents', {
    ...reading,
    query: query(...rows, 'select@4.9', 'q'),
    cache: ofAll,
    snapshot: 'pages',
  }),
  read('/agents/stats/distinct', 'Count agents by the values of fields', {
    ...reading,
    allFieldsWithout: 'fields',
    query: query(...rows, { fields: param('fields whose values are counted', list(text('names'))) }, 'q'),
    cache: ofAll,
    storedRows: 'none',
  }),
  read('/agents/summary/os', 'List the operating systems of agents', counting),
  read('/agents/summary/status', 'Count agents by status', counting),
  read('/agents/:agent_id/daemons/stats', 'Get the statistics of the daemons about an agent', {
    ...ofOwner,
    releases: { since: '4.5' },
    query: { daemons_list: param('names of daemons', list(oneOf('wazuh-analysisd', 'wazuh-remoted'))) },
    cache: ofOne,
  }),
  read('/agents/uninstall', 'Check the permission to uninstall agents', {
    ...reading,
    releases: { since: '4.12' },
    permission: 'agents:delete',
    rights: ['agent:uninstall on *:*:*'],
    cache: { never: 'it grants a permission at this moment' },
  }),
  read('/agents/summary', 'Count agents by status, group and operating system', {
    ...counting,
    releases: { since: '4.14' },
    query: query('agents_list'),
  }),
]

/** Returns the tags of all data of agents. Only releases before 4.8 store vulnerabilities. */
function wholeAgent(ids: string): readonly Tag[] {
  return [...dataOfAgent(ids), `vulnerability:${ids}`]
}

/** Returns the query of a write of the agents that a list and filters name. */
function ofFound(params: Readonly<Record<string, Param>>): Readonly<Record<string, Param>> {
  return query(agentFilters, { agents_list: agentsOrAll, ...params }, 'q')
}

/** When a new agent replaces one with the same name or address. */
const force = object({
  'enabled?': bool(true),
  'disconnected_time?': object({ 'enabled?': bool(true), 'value?': text('timeframe', { default: '1h' }) }),
  'after_registration_time?': text('timeframe', { default: '1h' }),
})

const ofAgents = ['agent:modify_group on agent:id:{agent_list}'] as const
const ofGroups = ['group:modify_assignments on group:id:{group_list}'] as const
const replacingGroups = ['group:modify_assignments on group:id:{replace_list}', ...ofGroups, ...ofAgents] as const

const adding = {
  permission: 'agents:write',
  rights: ['agent:create on *:*:*'],
  secret: 'always',
  // A new agent replaces one with the same name or address (`force` is the default), which the response does not name.
  invalidates: [...wholeAgent('*'), ...overAllAgents],
} as const
const grouping = { permission: 'groups:write' } as const
const oneInGroup = { ...grouping, invalidates: ['agent:{agent_id}', 'group:{group_id}', ...memberships] } as const
const manyInGroup = {
  ...grouping,
  invalidates: ['agent:{query.agents_list}', 'agent:{answer.affected_items}', 'group:{query.group_id}', ...memberships],
} as const
const oneGroup = { group_id: required('name of the group', text('group_names')) }
const onlyThisGroup = { force_single_group: param('remove the agents from their other groups', bool()) }
const upgrading = {
  permission: 'agents:upgrade',
  rights: ['agent:upgrade on agent:id:{agent_list}'],
  target: master('several'),
  withoutLost: { list: 'agents_list', message: 'Some upgrade tasks were not created', leftOut: 'every' },
  invalidates: ['agent:*', 'collection:agents', 'syscollector:*', 'collection:syscollector'],
  slow: true,
} as const
const restarting = {
  permission: 'agents:restart',
  rights: ['agent:restart on agent:id:{agent_list}'],
  target: master('several'),
  invalidates: ['agent:*', ...liveAgents],
} as const
const reloading = {
  ...restarting,
  releases: { since: '5.0' },
  rights: ['agent:reload on agent:id:{agent_list}'],
} as const
/** Unknown agents, the manager itself, agents that are not active. */
const NOT_ACTIVE = [1701, 1703, 1707]
const withoutRestarted = { message: 'Restart command was not sent to some agents', leftOut: NOT_ACTIVE } as const

export const agentWrites: readonly V4Endpoint[] = [
  write('PUT', '/active-response', 'Run a command on agents', {
    permission: 'active-response:run',
    rights: ['active-response:command on agent:id:{agent_list}'],
    target: master('several'),
    withoutLost: { list: 'agents_list', message: 'AR command was not sent to some agents', leftOut: [1701, 1703] },
    query: query('agents_list'),
    body: json({
      'arguments?': list(text()),
      command: text('active_response_command'),
      'custom?': bool(),
      'alert?': object({ 'data?': object() }),
    }),
    invalidates: [],
    invalidatesNothingBecause: 'an active response changes no data of the manager',
  }),
  write('DELETE', '/agents', 'Delete agents', {
    permission: 'agents:delete',
    rights: ['agent:delete on agent:id:{agent_list}'],
    query: ofFound({
      purge: param('remove the agent from the key file too', bool(false)),
      status: required(
        'status of the agents',
        list(oneOf('all', 'active', 'pending', 'never_connected', 'disconnected'), { minItems: 1 }),
      ),
      older_than: param('last seen before', text('timeframe', { default: '7d' })),
    }),
    invalidates: [...wholeAgent('{query.agents_list}'), ...wholeAgent('{answer.affected_items}'), ...overAllAgents],
  }),
  write('POST', '/agents', 'Add an agent', {
    ...adding,
    body: json({ name: text('names'), 'ip?': text('alphanumeric_symbols'), 'force?': force }),
  }),
  write('DELETE', '/agents/:agent_id/group', 'Remove an agent from all groups or a list of groups', {
    ...grouping,
    rights: [...ofAgents, ...ofGroups],
    query: query('groups_list'),
    invalidates: ['agent:{agent_id}', 'group:*', ...memberships],
  }),
  write('DELETE', '/agents/:agent_id/group/:group_id', 'Remove an agent from a group', {
    ...oneInGroup,
    rights: [...ofGroups, ...ofAgents],
  }),
  write('PUT', '/agents/:agent_id/group/:group_id', 'Assign an agent to a group', {
    ...oneInGroup,
    rights: replacingGroups,
    query: onlyThisGroup,
  }),
  write('PUT', '/agents/:agent_id/restart', 'Restart an agent', {
    ...restarting,
    target: master('agentOwner'),
    invalidates: ['agent:{agent_id}', ...liveAgents],
  }),
  write('PUT', '/agents/upgrade', 'Upgrade agents from a repository', {
    ...upgrading,
    query: ofFound({
      wpk_repo: param('repository of the packages', text('path')),
      upgrade_version: param('release to install', text('wazuh_version')),
      use_http: param('download with HTTP instead of HTTPS', bool(false)),
      force: param('upgrade even if the release is not v4', bool(false)),
      package_type: param('type of the package', since('4.9', oneOf('rpm', 'deb'))),
    }),
  }),
  write('PUT', '/agents/upgrade_custom', 'Upgrade agents from a file on their nodes', {
    ...upgrading,
    query: ofFound({
      file_path: required('path of the package on the node', text('wpk_path')),
      installer: word('installation script in the package'),
    }),
  }),
  write('DELETE', '/agents/group', 'Remove agents from a group', {
    ...manyInGroup,
    rights: [...ofGroups, ...ofAgents],
    query: { agents_list: agentsOrAll, ...oneGroup },
  }),
  write('PUT', '/agents/group', 'Assign agents to a group', {
    ...manyInGroup,
    rights: replacingGroups,
    query: query('agents_list', oneGroup, onlyThisGroup),
  }),
  write('PUT', '/agents/group/:group_id/restart', 'Restart the agents of a group', {
    ...restarting,
    rights: ['group:read on group:id:{group_list}', 'agent:read on agent:id:{agent_list}'],
    withoutLost: { list: { members: '/groups/:group_id/agents', command: '/agents/restart' }, ...withoutRestarted },
  }),
  write('POST', '/agents/insert', 'Add an agent with its id and key', {
    ...adding,
    body: json({
      'id?': text('numbers', { minLength: 3 }),
      'key?': text('wazuh_key', { minLength: 64, maxLength: 64 }),
      name: text('names'),
      'ip?': text('alphanumeric_symbols'),
      'force?': force,
    }),
  }),
  write('POST', '/agents/insert/quick', 'Add an agent by its name only', {
    ...adding,
    query: { agent_name: required('name of the agent', text('names', { maxLength: 128 })) },
    invalidates: ['agent:{answer.id}', ...memberships],
  }),
  write('PUT', '/agents/node/:node_id/restart', 'Restart the agents of a node', {
    ...restarting,
    rights: ['cluster:read on node:id:{node_id}'],
    target: master('node'),
  }),
  write('PUT', '/agents/reconnect', 'Have agents connect again', {
    ...restarting,
    rights: ['agent:reconnect on agent:id:{agent_list}'],
    withoutLost: {
      list: 'agents_list',
      message: 'Force reconnect command was not sent to some agents',
      leftOut: NOT_ACTIVE,
    },
    query: query('agents_list'),
  }),
  write('PUT', '/agents/restart', 'Restart agents', {
    ...restarting,
    withoutLost: { list: 'agents_list', ...withoutRestarted },
    query: query('agents_list'),
  }),
  write('PUT', '/agents/reload', 'Have agents read their configuration again', {
    ...reloading,
    query: query('agents_list'),
  }),
  write('PUT', '/agents/:agent_id/reload', 'Have an agent read its configuration again', {
    ...reloading,
    target: master('agentOwner'),
    invalidates: ['agent:{agent_id}', ...liveAgents],
  }),
  write('PUT', '/agents/group/:group_id/reload', 'Have the agents of a group read their configuration again', {
    ...reloading,
    rights: ['group:read on group:id:{group_list}', ...reloading.rights],
  }),
]
