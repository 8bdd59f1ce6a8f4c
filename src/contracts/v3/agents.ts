/** Records that read agents. */
import type { V3Endpoint } from '../endpoint.ts'
import { read } from '../record.ts'
import {
  agentName,
  agentStatus,
  filter,
  hiddenSearch,
  hiddenSelect,
  limit,
  list,
  offset,
  olderThan,
  q,
  select,
  sort,
} from '../schemas/params.ts'
import { agentOwner, cacheIn, collectionOf, master, message, objectOf, ofAgent, textOf } from '../schemas/shared.ts'

const reading = {
  permission: 'agents:read',
  target: master,
  cache: cacheIn('agents', 'collection:agents'),
} as const

export const agents: readonly V3Endpoint[] = [
  read('/agents', 'All agents', {
    ...reading,
    query: {
      ...list,
      q,
      status: agentStatus,
      'os.platform': filter('alphanumeric', 'OS platform'),
      'os.version': filter('alphanumeric', 'OS version'),
      manager: filter('alphanumeric', 'manager host name'),
      version: { ...filter('alphanumeric', 'agent version'), note: 'the space before the v is optional' },
      node_name: filter('alphanumeric', 'node name'),
      older_than: olderThan,
      group: filter('alphanumeric', 'group'),
      name: filter('alphanumeric', 'agent name'),
      ip: filter('ips', 'IP'),
      'os.name': filter('alphanumeric', 'OS name'),
      select,
    },
    response: collectionOf('Agent'),
    snapshot: 'agents',
  }),
  read('/agents/:agent_id', 'One agent', {
    ...reading,
    query: { select },
    response: objectOf('Agent'),
    cache: cacheIn('agents', ...ofAgent('agent')),
  }),
  read('/agents/name/:agent_name', 'One agent, by its name', {
    ...reading,
    params: { agent_name: agentName },
    query: { select },
    response: objectOf('Agent'),
  }),
  read('/agents/no_group', 'Agents without a group', {
    ...reading,
    query: { ...list, q, status: { ...agentStatus, beyondSeed: true }, select },
    response: collectionOf('Agent'),
    snapshot: 'agents',
  }),
  read('/agents/outdated', 'Outdated agents', {
    ...reading,
    query: { offset, limit, sort, search: hiddenSearch, q, select: hiddenSelect },
    response: collectionOf('OutdatedAgent'),
    // The manager leaves agents out of a page of all of them, so the rows show no page but their own.
    storedRows: 'none',
  }),
  read('/agents/summary', 'Agents counted by status', {
    ...reading,
    response: objectOf('AgentSummary'),
  }),
  read('/agents/summary/os', 'Platforms of the agents', {
    ...reading,
    query: { ...list, q },
    response: collectionOf('Platform'),
    storedRows: 'catalogue',
  }),
  read('/agents/stats/distinct', 'Distinct combinations of agent fields, counted', {
    ...reading,
    query: { ...list, q, fields: { ...filter('select', 'fields combined'), note: 'absent: every field' }, select },
    allFieldsWithout: 'fields',
    response: collectionOf('DistinctAgents'),
    storedRows: 'none',
  }),
  read('/agents/:agent_id/key', 'Key of an agent', {
    ...reading,
    secret: 'always',
    response: textOf('AgentKey'),
    cache: { never: 'an agent key' },
  }),
  read('/agents/:agent_id/config/:component/:configuration', 'Active configuration of an agent', {
    ...reading,
    target: agentOwner,
    secret: 'possible',
    response: objectOf('Configuration'),
    cache: { never: 'modules may contain credentials' },
  }),
  read('/agents/:agent_id/group/is_sync', 'Has the agent the files of its groups?', {
    ...reading,
    strictQuery: true,
    response: objectOf('GroupSync'),
    cache: cacheIn('agents', ...ofAgent('agent'), 'collection:groups'),
  }),
  read('/agents/:agent_id/upgrade_result', 'Outcome of an upgrade', {
    ...reading,
    query: {
      timeout: {
        ...filter('numbers', "seconds to wait for the agent's reply"),
        default: 3,
        note: 'the manager counts attempts of 5 s',
      },
    },
    target: agentOwner,
    response: message,
    cache: { never: 'clients poll until the result changes' },
    slow: true,
  }),
]
