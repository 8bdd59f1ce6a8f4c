/** Records of reads of agents. */
import type { Endpoint } from '../endpoint.ts'
import { cacheIn } from '../schemas/targets.ts'
import { agentFilters, agentStatus, query, rows } from './params.ts'
import { master, read } from './record.ts'
import { list, oneOf, param, since, text } from './values.ts'

const reading = {
  section: 'Agents',
  permission: 'agents:read',
  rights: ['agent:read on agent:id:{agent_list}'],
  target: master(),
} as const
const ofOwner = { ...reading, target: master('agentOwner') } as const
const ofOne = cacheIn('agents', 'agent:{agent_id}', 'agent:*')
const ofAll = cacheIn('agents', 'collection:agents', 'collection:groups')
const counting = { ...reading, cache: cacheIn('summary', 'collection:agents', 'collection:groups') } as const

export const agents: readonly Endpoint[] = [
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
        group_config_status: param(
          'whether the agents have the configuration of their groups',
          since('4.5', oneOf('synced', 'not synced')),
        ),
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
    // Without `fields` the manager returns all fields, including the key of each agent.
    secret: 'possible',
    query: query(...rows, { fields: param('fields whose values are counted', list(text('names'))) }, 'q'),
    cache: { never: 'contains agent keys' },
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
