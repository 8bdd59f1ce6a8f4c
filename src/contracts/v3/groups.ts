import type { Body, V3Endpoint } from '../endpoint.ts'
import { read, write } from '../record.ts'
import {
  agentIds,
  agentStatus,
  failingSelect,
  filter,
  hashAlgorithm,
  hiddenQ,
  list,
  page,
  q,
  select,
} from '../schemas/params.ts'
import {
  affected,
  agentIdList,
  cacheIn,
  collectionOf,
  fieldTypes,
  master,
  memberships,
  message,
  objectOf,
} from '../schemas/shared.ts'

/** Records of agent groups: members and shared files, all on the master. */

const reading = { permission: 'groups:read', target: master } as const
const writing = { permission: 'groups:write', target: master } as const
const removing = { permission: 'groups:delete', target: master } as const
const fileName = filter('names', 'file name')
const agentConf: Body = { kind: 'upload', types: ['application/xml'], wrongType: 607 }

const reads: readonly V3Endpoint[] = [
  read('/agents/groups', 'All groups', {
    ...reading,
    query: { ...list, q: hiddenQ, hash: hashAlgorithm, select: failingSelect },
    response: collectionOf('Group'),
    cache: cacheIn('agents', 'collection:groups'),
    snapshot: 'groups',
  }),
  read('/agents/groups/:group_id', 'Agents of a group', {
    ...reading,
    query: { ...list, q, status: agentStatus, select },
    response: collectionOf('Agent'),
    cache: cacheIn('agents', 'group:{group_id}', 'collection:agents'),
    snapshot: 'agents',
  }),
  read('/agents/groups/:group_id/configuration', 'Configuration of a group', {
    ...reading,
    query: page,
    secret: 'possible',
    response: collectionOf('GroupConfiguration'),
    cache: { never: 'modules may contain credentials' },
  }),
  read('/agents/groups/:group_id/files', 'Files of a group', {
    ...reading,
    query: { ...list, hash: hashAlgorithm },
    response: collectionOf('GroupFile'),
    cache: cacheIn('agents', 'group:{group_id}'),
    snapshot: 'groupFiles',
  }),
  read('/agents/groups/:group_id/files/:filename', 'One file of a group, parsed', {
    ...reading,
    params: { filename: fileName },
    query: {
      type: {
        ...filter('names', 'type of file'),
        allowed: ['conf', 'rootkit_files', 'rootkit_trojans', 'rcl'],
        note: 'other values give 1104; absent: derived from the name',
      },
      format: {
        ...filter('format', 'output format'),
        allowed: ['json', 'xml'],
        default: 'json',
        note: 'xml for agent.conf only: data is its text',
      },
    },
    secret: 'possible',
    response: objectOf('ParsedGroupFile'),
    cache: { never: 'the contents of a file' },
  }),
]

const writes: readonly V3Endpoint[] = [
  write('PUT', '/agents/groups/:group_id', 'Create a group', {
    ...writing,
    invalidates: ['group:{group_id}', 'collection:groups'],
  }),
  write('POST', '/agents/groups/:group_id/configuration', 'Put the agent.conf of a group', {
    ...writing,
    body: agentConf,
    writeLock: 'file:group:{group_id}',
    invalidates: ['group:{group_id}', 'collection:groups'],
  }),
  write(
    'POST',
    '/agents/groups/:group_id/files/:file_name',
    'Put a file of a group; the manager takes agent.conf alone',
    {
      ...writing,
      params: { file_name: fileName },
      body: agentConf,
      writeLock: 'file:group:{group_id}',
      response: message,
      invalidates: ['group:{group_id}', 'collection:groups'],
    },
  ),
  write('POST', '/agents/group/:group_id', 'Assign agents to a group', {
    ...writing,
    body: { kind: 'fields', types: fieldTypes, fields: { ids: agentIdList } },
    response: { ...affected, schema: 'AssignedAgents' },
    invalidates: ['agent:{body.ids}', 'group:{group_id}', ...memberships],
  }),
  write('PUT', '/agents/:agent_id/group/:group_id', 'Assign an agent to a group', {
    ...writing,
    strictQuery: false,
    query: {
      force_single_group: {
        ...filter('flag', 'the group replaces all others'),
        default: false,
        note: 'only its presence counts; absent: append',
      },
    },
    invalidates: ['agent:{agent_id}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', '/agents/:agent_id/group', 'Take an agent out of all groups', {
    ...writing,
    invalidates: ['agent:{agent_id}', ...memberships],
  }),
  write('DELETE', '/agents/:agent_id/group/:group_id', 'Take an agent out of a group', {
    ...writing,
    invalidates: ['agent:{agent_id}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', '/agents/group/:group_id', 'Take agents out of a group', {
    ...writing,
    query: { ids: { ...agentIds, required: 604 } },
    response: affected,
    invalidates: ['agent:{query.ids}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', '/agents/groups', 'Remove groups', {
    ...removing,
    query: { ids: { ...filter('array_names', 'group names, separated by commas'), required: 604 } },
    response: { ...affected, schema: 'RemovedGroups' },
    invalidates: ['group:{query.ids}', 'agent:{answer.affected_agents}', ...memberships],
  }),
  write('DELETE', '/agents/groups/:group_id', 'Remove a group', {
    ...removing,
    response: { ...affected, schema: 'RemovedGroups' },
    invalidates: ['group:{group_id}', 'agent:{answer.affected_agents}', ...memberships],
  }),
]

export const groups: readonly V3Endpoint[] = [...reads, ...writes]
