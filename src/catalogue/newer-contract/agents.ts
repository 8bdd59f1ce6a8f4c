/** Records of reads of agents. */
import type { Endpoint } from '../endpoint.ts'
import { withSnapshot } from '../schemas/targets.ts'
import {
  agentDaemons,
  agentFilters,
  agentId,
  agentStatus,
  agentsList,
  component,
  configuration,
  distinctSince47,
  q,
  rows,
  select,
  selectSince49,
} from './params.ts'
import { cacheIn, master, read } from './record.ts'
import { list, oneOf, param, since, text } from './values.ts'

const ofOneAgent = {
  section: 'Agents',
  permission: 'agents:read',
  rights: ['agent:read on agent:id:{agent_list}'],
  target: master('agentOwner'),
} as const
const reading = {
  section: 'Agents',
  permission: 'agents:read',
  rights: ['agent:read on agent:id:{agent_list}'],
  target: master(),
} as const

const ofAllAgents = cacheIn('agents', 'collection:agents', 'collection:groups')

export const agents: readonly Endpoint[] = [
  read({
    ...reading,
    path: '/agents',
    summary: 'List agents',
    query: {
      ...rows,
      ...agentFilters,
      agents_list: agentsList,
      select,
      status: agentStatus,
      q,
      older_than: param('last seen before', text('timeframe')),
      group_config_status: param(
        'whether the agents have the configuration of their groups',
        since('4.5', oneOf('synced', 'not synced')),
      ),
      distinct: distinctSince47,
    },
    cache: withSnapshot('agents', ofAllAgents),
  }),
  read({
    ...ofOneAgent,
    path: '/agents/:agent_id/config/:component/:configuration',
    summary: 'Get the active configuration of an agent',
    secret: 'possible',
    params: { agent_id: agentId, component, configuration },
    cache: { never: 'settings may contain keys and credentials' },
  }),
  read({
    ...reading,
    path: '/agents/:agent_id/group/is_sync',
    summary: 'Check whether an agent has the configuration of its groups',
    params: { agent_id: agentId },
    cache: cacheIn('agents', 'agent:{agent_id}', 'agent:*', 'collection:groups'),
  }),
  read({
    ...reading,
    path: '/agents/:agent_id/key',
    summary: 'Get the key of an agent',
    secret: 'always',
    params: { agent_id: agentId },
    cache: { never: 'the response is the key of an agent' },
  }),
  read({
    ...ofOneAgent,
    path: '/agents/:agent_id/stats/:component',
    summary: 'Get the statistics of a component of an agent',
    params: { agent_id: agentId, component: param('component of the agent', oneOf('logcollector', 'agent')) },
    cache: cacheIn('agents', 'agent:{agent_id}', 'agent:*'),
  }),
  read({
    path: '/agents/upgrade_result',
    section: 'Agents',
    summary: 'Get the results of upgrades of agents',
    permission: 'agents:upgrade',
    rights: ['agent:upgrade on agent:id:{agent_list}'],
    target: master(),
    query: { ...agentFilters, agents_list: agentsList, q },
    cache: { never: 'the state of running tasks' },
  }),
  read({
    ...reading,
    path: '/agents/no_group',
    summary: 'List agents without a group',
    query: { ...rows, select, q },
    cache: withSnapshot('agents', ofAllAgents),
  }),
  read({
    ...reading,
    path: '/agents/outdated',
    summary: 'List outdated agents',
    query: { ...rows, select: selectSince49, q },
    cache: withSnapshot('pages', ofAllAgents),
  }),
  read({
    ...reading,
    path: '/agents/stats/distinct',
    summary: 'Count agents by the values of fields',
    // Without `fields` the manager returns all fields, including the key of each agent.
    secret: 'possible',
    query: { ...rows, fields: param('fields whose values are counted', list(text('names'))), q },
    cache: { never: 'contains agent keys' },
  }),
  read({
    ...reading,
    path: '/agents/summary/os',
    summary: 'List the operating systems of agents',
    cache: cacheIn('summary', 'collection:agents', 'collection:groups'),
  }),
  read({
    ...reading,
    path: '/agents/summary/status',
    summary: 'Count agents by status',
    cache: cacheIn('summary', 'collection:agents', 'collection:groups'),
  }),
  read({
    ...ofOneAgent,
    path: '/agents/:agent_id/daemons/stats',
    summary: 'Get the statistics of the daemons about an agent',
    releases: { since: '4.5' },
    params: { agent_id: agentId },
    query: { daemons_list: agentDaemons },
    cache: cacheIn('agents', 'agent:{agent_id}', 'agent:*'),
  }),
  read({
    path: '/agents/uninstall',
    section: 'Agents',
    summary: 'Check the permission to uninstall agents',
    releases: { since: '4.12' },
    permission: 'agents:delete',
    rights: ['agent:uninstall on *:*:*'],
    target: master(),
    cache: { never: 'it grants a permission at this moment' },
  }),
  read({
    ...reading,
    path: '/agents/summary',
    summary: 'Count agents by status, group and operating system',
    releases: { since: '4.14' },
    query: { agents_list: agentsList },
    cache: cacheIn('summary', 'collection:agents', 'collection:groups'),
  }),
]
