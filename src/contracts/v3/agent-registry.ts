/** Records of the registry of agents on the master, which adds and removes them. */
import type { ConditionalTags, Field, V3Endpoint } from '../endpoint.ts'
import { write } from '../record.ts'
import { agentIds, agentName, agentStatus, filter, olderThan } from '../schemas/params.ts'
import { affected, fieldTypes, master, memberships, objectOf, overAllAgents, wholeAgent } from '../schemas/shared.ts'

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
  permission: 'agents:write',
  target: master,
  secret: 'always',
  response: objectOf('AgentIdAndKey'),
  // The manager assigns ids in sequence, and two concurrent requests may get the same id.
  writeLock: 'registration',
} as const
const removing = { permission: 'agents:delete', target: master } as const

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
