/** Records of agents: reads, and the registry on the master, which adds and removes them. */
import type { ConditionalTags, Field, V3Endpoint } from '../endpoint.ts'
import { read, write } from '../record.ts'
import {
  agentIds,
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
import {
  affected,
  agentOwner,
  cacheIn,
  collectionOf,
  fieldTypes,
  master,
  memberships,
  message,
  objectOf,
  ofAgent,
  overAllAgents,
  textOf,
  wholeAgent,
} from '../schemas/shared.ts'

const section = 'Agents'
const reading = {
  section,
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
    storedRows: 'agentCounts',
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

const name: Field = { type: 'string', kind: 'names', role: 'agent name', required: 604 }
const ip: Field = {
  type: 'string',
  kind: 'ips',
  role: 'address of the agent',
  canonical: 'lowerCase',
  fill: 'clientAddress',
}
const force: Field = {
  type: 'integer',
  kind: 'numbers',
  role: 'remove an old agent with the same IP that was last seen at least this many seconds ago',
  default: -1,
}
/**
 * With `force` the manager replaces an agent that the response does not name, so all stored data of agents is
 * invalidated.
 */
const displacing: ConditionalTags = {
  value: 'body.force',
  matches: '^[0-9]+$',
  tags: [...wholeAgent('*'), 'collection:syscollector', 'collection:ciscat', 'cluster'],
}

const adding = {
  section,
  permission: 'agents:write',
  target: master,
  secret: 'always',
  response: objectOf('AgentIdAndKey'),
  // The manager assigns ids in sequence, and two concurrent requests may get the same id.
  writeLock: 'registration',
} as const
const removing = { section, permission: 'agents:delete', target: master } as const

export const agentRegistry: readonly V3Endpoint[] = [
  write('POST', '/agents', 'Add an agent', {
    ...adding,
    body: { kind: 'fields', types: fieldTypes, fields: { name, ip, force } },
    invalidates: ['agent:{answer.id}', ...memberships, displacing],
  }),
  write('PUT', '/agents/:agent_name', 'Add an agent, quick method', {
    ...adding,
    params: { agent_name: agentName },
    invalidates: ['agent:{answer.id}', ...memberships],
  }),
  write('POST', '/agents/insert', 'Insert an agent with its id and key', {
    ...adding,
    body: {
      kind: 'fields',
      types: fieldTypes,
      fields: {
        name,
        ip,
        id: { type: 'string', kind: 'numbers', role: 'agent id', required: 604, canonical: 'agentId' },
        key: {
          type: 'string',
          kind: 'key',
          role: 'agent key',
          required: 604,
          note: 'fewer than 64 characters give 1709',
        },
        force,
      },
      // The real API has filled in the address before it checks, and lists it all the same.
      namedAsMandatory: ['id', 'name', 'ip', 'key'],
    },
    invalidates: [...wholeAgent('{body.id}'), ...overAllAgents, displacing],
  }),
  write('DELETE', '/agents', 'Remove agents', {
    ...removing,
    query: {
      ids: agentIds,
      purge: { ...filter('empty_boolean', 'delete from the key store'), default: false },
      status: { ...agentStatus, default: 'all' },
      older_than: { ...olderThan, default: '7d', note: 'applies to listed ids too' },
    },
    oneOf: ['ids', 'status'],
    response: { ...affected, schema: 'RemovedAgents' },
    invalidates: [...wholeAgent('{query.ids}'), ...wholeAgent('{answer.affected_agents}'), ...overAllAgents],
  }),
  write('DELETE', '/agents/:agent_id', 'Remove an agent', {
    ...removing,
    strictQuery: false,
    query: { purge: { ...filter('flag', 'delete from the key store'), default: false } },
    response: affected,
    invalidates: [...wholeAgent('{agent_id}'), ...overAllAgents],
  }),
]
