import type { ConditionalTags, Endpoint, Field } from './endpoint.ts'
import { write } from './record.ts'
import { agentId, agentIds, agentName, agentStatus, filter, olderThan } from './schemas/params.ts'
import { affected, fieldTypes, objectOf } from './schemas/responses.ts'
import { master, memberships, overAllAgents, wholeAgent } from './schemas/targets.ts'

/** Records of the agent registry on the master: adding and removing agents. */

const section = 'Agents'

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
/** The manager assigns ids in sequence, and two concurrent requests may get the same id. */
const writeLock = 'registration'
/**
 * With `force` the manager replaces an agent that the response does not name, so all stored data of agents is
 * invalidated.
 */
const displacing: ConditionalTags = {
  value: 'body.force',
  matches: '^[0-9]+$',
  tags: [...wholeAgent('*'), 'collection:syscollector', 'collection:ciscat', 'cluster'],
}

const adding: readonly Endpoint[] = [
  write('POST', {
    path: '/agents',
    summary: 'Add an agent',
    section,
    permission: 'agents:write',
    target: master,
    body: { kind: 'fields', types: fieldTypes, fields: { name, ip, force } },
    secret: 'always',
    response: objectOf('AgentIdAndKey'),
    invalidates: ['agent:{answer.id}', ...memberships, displacing],
    writeLock: writeLock,
  }),
  write('PUT', {
    path: '/agents/:agent_name',
    summary: 'Add an agent, quick method',
    section,
    params: { agent_name: agentName },
    permission: 'agents:write',
    target: master,
    secret: 'always',
    response: objectOf('AgentIdAndKey'),
    invalidates: ['agent:{answer.id}', ...memberships],
    writeLock: writeLock,
  }),
  write('POST', {
    path: '/agents/insert',
    summary: 'Insert an agent with its id and key',
    section,
    permission: 'agents:write',
    target: master,
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
    secret: 'always',
    response: objectOf('AgentIdAndKey'),
    invalidates: [...wholeAgent('{body.id}'), ...overAllAgents, displacing],
    writeLock: writeLock,
  }),
]

const removing: readonly Endpoint[] = [
  write('DELETE', {
    path: '/agents',
    summary: 'Remove agents',
    section,
    query: {
      ids: agentIds,
      purge: { ...filter('empty_boolean', 'delete from the key store'), default: false },
      status: { ...agentStatus, default: 'all' },
      older_than: { ...olderThan, default: '7d', note: 'applies to listed ids too' },
    },
    strictQuery: true,
    oneOf: ['ids', 'status'],
    permission: 'agents:delete',
    target: master,
    response: { ...affected, schema: 'RemovedAgents' },
    invalidates: [...wholeAgent('{query.ids}'), ...wholeAgent('{answer.affected_agents}'), ...overAllAgents],
  }),
  write('DELETE', {
    path: '/agents/:agent_id',
    summary: 'Remove an agent',
    section,
    params: { agent_id: agentId },
    query: { purge: { ...filter('flag', 'delete from the key store'), default: false } },
    permission: 'agents:delete',
    target: master,
    response: affected,
    invalidates: [...wholeAgent('{agent_id}'), ...overAllAgents],
  }),
]

export const agentRegistry: readonly Endpoint[] = [...adding, ...removing]
