import type { Body, Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import {
  agentId,
  agentIds,
  agentStatus,
  failingSelect,
  filter,
  groupId,
  hashAlgorithm,
  hiddenQ,
  list,
  page,
  q,
  select,
} from './schemas/params.ts'
import { affected, agentIdList, collectionOf, fieldTypes, message, objectOf } from './schemas/responses.ts'
import { cacheIn, master, memberships, withSnapshot } from './schemas/targets.ts'

/** Records of agent groups: members and shared files, all on the master. */

const section = 'Agent groups'
const reading = { section, permission: 'groups:read', target: master, strictQuery: true } as const
const writing = { section, permission: 'groups:write', target: master } as const
const removing = { section, permission: 'groups:delete', target: master } as const
const fileName = filter('names', 'file name')
const agentConf: Body = { kind: 'upload', types: ['application/xml'], wrongType: 607 }

const reads: readonly Endpoint[] = [
  read({
    path: '/agents/groups',
    summary: 'All groups',
    ...reading,
    query: { ...list, q: hiddenQ, hash: hashAlgorithm, select: failingSelect },
    response: collectionOf('Group'),
    cache: withSnapshot('groups', cacheIn('agents', 'collection:groups')),
  }),
  read({
    path: '/agents/groups/:group_id',
    summary: 'Agents of a group',
    ...reading,
    params: { group_id: groupId },
    query: { ...list, q, status: agentStatus, select },
    response: collectionOf('Agent'),
    cache: withSnapshot('agents', cacheIn('agents', 'group:{group_id}', 'collection:agents')),
  }),
  read({
    path: '/agents/groups/:group_id/configuration',
    summary: 'Configuration of a group',
    ...reading,
    params: { group_id: groupId },
    query: page,
    secret: 'possible',
    response: collectionOf('GroupConfiguration'),
    cache: { never: 'modules may contain credentials' },
  }),
  read({
    path: '/agents/groups/:group_id/files',
    summary: 'Files of a group',
    ...reading,
    params: { group_id: groupId },
    query: { ...list, hash: hashAlgorithm },
    response: collectionOf('GroupFile'),
    cache: withSnapshot('groupFiles', cacheIn('agents', 'group:{group_id}')),
  }),
  read({
    path: '/agents/groups/:group_id/files/:filename',
    summary: 'One file of a group, parsed',
    ...reading,
    params: { group_id: groupId, filename: fileName },
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

const writes: readonly Endpoint[] = [
  write('PUT', {
    path: '/agents/groups/:group_id',
    summary: 'Create a group',
    ...writing,
    params: { group_id: groupId },
    response: message,
    invalidates: ['group:{group_id}', 'collection:groups'],
  }),
  write('POST', {
    path: '/agents/groups/:group_id/configuration',
    summary: 'Put the agent.conf of a group',
    ...writing,
    params: { group_id: groupId },
    body: agentConf,
    writeLock: 'file:group:{group_id}',
    response: message,
    invalidates: ['group:{group_id}', 'collection:groups'],
  }),
  write('POST', {
    path: '/agents/groups/:group_id/files/:file_name',
    summary: 'Put a file of a group; the manager takes agent.conf alone',
    ...writing,
    params: { group_id: groupId, file_name: fileName },
    body: agentConf,
    writeLock: 'file:group:{group_id}',
    response: message,
    invalidates: ['group:{group_id}', 'collection:groups'],
  }),
  write('POST', {
    path: '/agents/group/:group_id',
    summary: 'Assign agents to a group',
    ...writing,
    params: { group_id: groupId },
    body: { kind: 'fields', types: fieldTypes, fields: { ids: agentIdList } },
    response: { ...affected, schema: 'AssignedAgents' },
    invalidates: ['agent:{body.ids}', 'group:{group_id}', ...memberships],
  }),
  write('PUT', {
    path: '/agents/:agent_id/group/:group_id',
    summary: 'Assign an agent to a group',
    ...writing,
    params: { agent_id: agentId, group_id: groupId },
    query: {
      force_single_group: {
        ...filter('flag', 'the group replaces all others'),
        default: false,
        note: 'only its presence counts; absent: append',
      },
    },
    response: message,
    invalidates: ['agent:{agent_id}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/:agent_id/group',
    summary: 'Take an agent out of all groups',
    ...writing,
    params: { agent_id: agentId },
    response: message,
    invalidates: ['agent:{agent_id}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/:agent_id/group/:group_id',
    summary: 'Take an agent out of a group',
    ...writing,
    params: { agent_id: agentId, group_id: groupId },
    response: message,
    invalidates: ['agent:{agent_id}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/group/:group_id',
    summary: 'Take agents out of a group',
    ...writing,
    params: { group_id: groupId },
    query: { ids: { ...agentIds, required: 604 } },
    strictQuery: true,
    response: affected,
    invalidates: ['agent:{query.ids}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/groups',
    summary: 'Remove groups',
    ...removing,
    query: { ids: { ...filter('array_names', 'group names, separated by commas'), required: 604 } },
    strictQuery: true,
    response: { ...affected, schema: 'RemovedGroups' },
    invalidates: ['group:{query.ids}', 'agent:{answer.affected_agents}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/groups/:group_id',
    summary: 'Remove a group',
    ...removing,
    params: { group_id: groupId },
    response: { ...affected, schema: 'RemovedGroups' },
    invalidates: ['group:{group_id}', 'agent:{answer.affected_agents}', ...memberships],
  }),
]

export const groups: readonly Endpoint[] = [...reads, ...writes]
