/** Records of writes of agents. */
import type { Endpoint, Tag } from '../endpoint.ts'
import { wholeAgent as dataOfAgent, overAllAgents } from '../schemas/targets.ts'
import { agentFilters, agentId, agentsList, agentsOrAll, groupId, groupsList, nodeId, q } from './params.ts'
import { master, write } from './record.ts'
import { bool, json, list, object, oneOf, param, required, since, text } from './values.ts'

/** Returns the tags of all data of agents. Only releases before 4.8 store vulnerabilities. */
function wholeAgent(ids: string): readonly Tag[] {
  return [...dataOfAgent(ids), `vulnerability:${ids}`]
}

/** A new agent replaces one with the same name or address (`force` is the default), which the response does not name. */
const replacing: readonly Tag[] = [...wholeAgent('*'), ...overAllAgents]

/** When a new agent replaces one with the same name or address. */
const force = object({
  'enabled?': bool(true),
  'disconnected_time?': object({ 'enabled?': bool(true), 'value?': text('timeframe', { default: '1h' }) }),
  'after_registration_time?': text('timeframe', { default: '1h' }),
})

/** Unknown agents, the manager itself, agents that are not active. */
const NOT_ACTIVE = [1701, 1703, 1707]

export const agentWrites: readonly Endpoint[] = [
  write('DELETE', {
    path: '/agents',
    section: 'Agents',
    summary: 'Delete agents',
    permission: 'agents:delete',
    rights: ['agent:delete on agent:id:{agent_list}'],
    target: master(),
    query: {
      ...agentFilters,
      agents_list: agentsOrAll,
      purge: param('remove the agent from the key file too', bool(false)),
      status: required(
        'status of the agents',
        list(oneOf('all', 'active', 'pending', 'never_connected', 'disconnected'), { minItems: 1 }),
      ),
      older_than: param('last seen before', text('timeframe', { default: '7d' })),
      q,
    },
    invalidates: [...wholeAgent('{query.agents_list}'), ...wholeAgent('{answer.affected_items}'), ...overAllAgents],
  }),
  write('POST', {
    path: '/agents',
    section: 'Agents',
    summary: 'Add an agent',
    permission: 'agents:write',
    rights: ['agent:create on *:*:*'],
    secret: 'always',
    target: master(),
    body: json({ name: text('names'), 'ip?': text('alphanumeric_symbols'), 'force?': force }),
    invalidates: replacing,
  }),
  write('DELETE', {
    path: '/agents/:agent_id/group',
    section: 'Agents',
    summary: 'Remove an agent from all groups or a list of groups',
    permission: 'groups:write',
    rights: ['agent:modify_group on agent:id:{agent_list}', 'group:modify_assignments on group:id:{group_list}'],
    target: master(),
    params: { agent_id: agentId },
    query: { groups_list: groupsList },
    invalidates: ['agent:{agent_id}', 'group:*', 'collection:agents', 'collection:groups'],
  }),
  write('DELETE', {
    path: '/agents/:agent_id/group/:group_id',
    section: 'Agents',
    summary: 'Remove an agent from a group',
    permission: 'groups:write',
    rights: ['group:modify_assignments on group:id:{group_list}', 'agent:modify_group on agent:id:{agent_list}'],
    target: master(),
    params: { agent_id: agentId, group_id: groupId },
    invalidates: ['agent:{agent_id}', 'group:{group_id}', 'collection:agents', 'collection:groups'],
  }),
  write('PUT', {
    path: '/agents/:agent_id/group/:group_id',
    section: 'Agents',
    summary: 'Assign an agent to a group',
    permission: 'groups:write',
    rights: [
      'group:modify_assignments on group:id:{replace_list}',
      'group:modify_assignments on group:id:{group_list}',
      'agent:modify_group on agent:id:{agent_list}',
    ],
    target: master(),
    params: { agent_id: agentId, group_id: groupId },
    query: { force_single_group: param('remove the agents from their other groups', bool()) },
    invalidates: ['agent:{agent_id}', 'group:{group_id}', 'collection:agents', 'collection:groups'],
  }),
  write('PUT', {
    path: '/agents/:agent_id/restart',
    section: 'Agents',
    summary: 'Restart an agent',
    permission: 'agents:restart',
    rights: ['agent:restart on agent:id:{agent_list}'],
    target: master('agentOwner'),
    params: { agent_id: agentId },
    invalidates: ['agent:{agent_id}', 'collection:agents', 'cluster'],
  }),
  write('PUT', {
    path: '/agents/upgrade',
    section: 'Agents',
    summary: 'Upgrade agents from a repository',
    permission: 'agents:upgrade',
    rights: ['agent:upgrade on agent:id:{agent_list}'],
    target: master('several'),
    withoutLost: { list: 'agents_list', message: 'Some upgrade tasks were not created', leftOut: 'every' },
    query: {
      ...agentFilters,
      agents_list: agentsOrAll,
      wpk_repo: param('repository of the packages', text('path')),
      upgrade_version: param('release to install', text('wazuh_version')),
      use_http: param('download with HTTP instead of HTTPS', bool(false)),
      force: param('upgrade even if the release is not newer', bool(false)),
      package_type: param('type of the package', since('4.9', oneOf('rpm', 'deb'))),
      q,
    },
    invalidates: ['agent:*', 'collection:agents', 'syscollector:*', 'collection:syscollector'],
    slow: true,
  }),
  write('PUT', {
    path: '/agents/upgrade_custom',
    section: 'Agents',
    summary: 'Upgrade agents from a file on their nodes',
    permission: 'agents:upgrade',
    rights: ['agent:upgrade on agent:id:{agent_list}'],
    target: master('several'),
    withoutLost: { list: 'agents_list', message: 'Some upgrade tasks were not created', leftOut: 'every' },
    query: {
      ...agentFilters,
      agents_list: agentsOrAll,
      file_path: required('path of the package on the node', text('wpk_path')),
      installer: param('installation script in the package', text('alphanumeric')),
      q,
    },
    invalidates: ['agent:*', 'collection:agents', 'syscollector:*', 'collection:syscollector'],
    slow: true,
  }),
  write('DELETE', {
    path: '/agents/group',
    section: 'Agents',
    summary: 'Remove agents from a group',
    permission: 'groups:write',
    rights: ['group:modify_assignments on group:id:{group_list}', 'agent:modify_group on agent:id:{agent_list}'],
    target: master(),
    query: { agents_list: agentsOrAll, group_id: required('name of the group', text('group_names')) },
    invalidates: [
      'agent:{query.agents_list}',
      'agent:{answer.affected_items}',
      'group:{query.group_id}',
      'collection:agents',
      'collection:groups',
    ],
  }),
  write('PUT', {
    path: '/agents/group',
    section: 'Agents',
    summary: 'Assign agents to a group',
    permission: 'groups:write',
    rights: [
      'group:modify_assignments on group:id:{replace_list}',
      'group:modify_assignments on group:id:{group_list}',
      'agent:modify_group on agent:id:{agent_list}',
    ],
    target: master(),
    query: {
      agents_list: agentsList,
      group_id: required('name of the group', text('group_names')),
      force_single_group: param('remove the agents from their other groups', bool()),
    },
    invalidates: [
      'agent:{query.agents_list}',
      'agent:{answer.affected_items}',
      'group:{query.group_id}',
      'collection:agents',
      'collection:groups',
    ],
  }),
  write('PUT', {
    path: '/agents/group/:group_id/restart',
    section: 'Agents',
    summary: 'Restart the agents of a group',
    permission: 'agents:restart',
    rights: ['group:read on group:id:{group_list}', 'agent:read on agent:id:{agent_list}'],
    target: master('several'),
    withoutLost: {
      list: { members: '/groups/:group_id/agents', command: '/agents/restart' },
      message: 'Restart command was not sent to some agents',
      leftOut: NOT_ACTIVE,
    },
    params: { group_id: groupId },
    invalidates: ['agent:*', 'collection:agents', 'cluster'],
  }),
  write('POST', {
    path: '/agents/insert',
    section: 'Agents',
    summary: 'Add an agent with its id and key',
    permission: 'agents:write',
    rights: ['agent:create on *:*:*'],
    secret: 'always',
    target: master(),
    body: json({
      'id?': text('numbers', { minLength: 3 }),
      'key?': text('wazuh_key', { minLength: 64, maxLength: 64 }),
      name: text('names'),
      'ip?': text('alphanumeric_symbols'),
      'force?': force,
    }),
    invalidates: replacing,
  }),
  write('POST', {
    path: '/agents/insert/quick',
    section: 'Agents',
    summary: 'Add an agent by its name only',
    permission: 'agents:write',
    rights: ['agent:create on *:*:*'],
    secret: 'always',
    target: master(),
    query: { agent_name: required('name of the agent', text('names', { maxLength: 128 })) },
    invalidates: ['agent:{answer.id}', 'collection:agents', 'collection:groups'],
  }),
  write('PUT', {
    path: '/agents/node/:node_id/restart',
    section: 'Agents',
    summary: 'Restart the agents of a node',
    permission: 'agents:restart',
    rights: ['cluster:read on node:id:{node_id}'],
    target: master('node'),
    params: { node_id: nodeId },
    invalidates: ['agent:*', 'collection:agents', 'cluster'],
  }),
  write('PUT', {
    path: '/agents/reconnect',
    section: 'Agents',
    summary: 'Have agents connect again',
    permission: 'agents:restart',
    rights: ['agent:reconnect on agent:id:{agent_list}'],
    target: master('several'),
    withoutLost: {
      list: 'agents_list',
      message: 'Force reconnect command was not sent to some agents',
      leftOut: NOT_ACTIVE,
    },
    query: { agents_list: agentsList },
    invalidates: ['agent:*', 'collection:agents', 'cluster'],
  }),
  write('PUT', {
    path: '/agents/restart',
    section: 'Agents',
    summary: 'Restart agents',
    permission: 'agents:restart',
    rights: ['agent:restart on agent:id:{agent_list}'],
    target: master('several'),
    withoutLost: { list: 'agents_list', message: 'Restart command was not sent to some agents', leftOut: NOT_ACTIVE },
    query: { agents_list: agentsList },
    invalidates: ['agent:*', 'collection:agents', 'cluster'],
  }),
]
