/** Agent groups: their members and the files that their members share, all on the master. */
import type { Body, Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { affected, collectionOf, message, objectOf } from './schemas/answers.ts'
import { agentIdList, fieldTypes } from './schemas/bodies.ts'
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
import { keepIn, memberships } from './schemas/tags.ts'
import { master } from './schemas/targets.ts'

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
    answer: collectionOf('Group'),
    keep: keepIn('agents', 'collection:groups'),
  }),
  read({
    path: '/agents/groups/:group_id',
    summary: 'Agents of a group',
    ...reading,
    params: { group_id: groupId },
    query: { ...list, q, status: agentStatus, select },
    answer: collectionOf('Agent'),
    keep: keepIn('agents', 'group:{group_id}', 'collection:agents'),
  }),
  read({
    path: '/agents/groups/:group_id/configuration',
    summary: 'Configuration of a group',
    ...reading,
    params: { group_id: groupId },
    query: page,
    secret: 'possible',
    answer: collectionOf('group configuration item'),
    keep: { never: 'modules may hold credentials' },
  }),
  read({
    path: '/agents/groups/:group_id/files',
    summary: 'Files of a group',
    ...reading,
    params: { group_id: groupId },
    query: { ...list, hash: hashAlgorithm },
    answer: collectionOf('group file entry'),
    keep: keepIn('agents', 'group:{group_id}'),
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
        note: 'other values answer 1104; absent: guessed from the name',
      },
      format: {
        ...filter('format', 'output format'),
        allowed: ['json', 'xml'],
        default: 'json',
        note: 'xml for agent.conf only: its text in data',
      },
    },
    secret: 'possible',
    answer: objectOf('the file, parsed to the requested format'),
    keep: { never: 'the contents of a file' },
  }),
]

const writes: readonly Endpoint[] = [
  write('PUT', {
    path: '/agents/groups/:group_id',
    summary: 'Create a group',
    ...writing,
    params: { group_id: groupId },
    answer: message,
    makesStale: ['group:{group_id}', 'collection:groups'],
  }),
  write('POST', {
    path: '/agents/groups/:group_id/configuration',
    summary: 'Put the agent.conf of a group',
    ...writing,
    params: { group_id: groupId },
    body: agentConf,
    inTurn: 'file:group:{group_id}',
    answer: message,
    makesStale: ['group:{group_id}', 'collection:groups'],
  }),
  write('POST', {
    path: '/agents/groups/:group_id/files/:file_name',
    summary: 'Put a file of a group; the manager takes agent.conf alone',
    ...writing,
    params: { group_id: groupId, file_name: fileName },
    body: agentConf,
    inTurn: 'file:group:{group_id}',
    answer: message,
    makesStale: ['group:{group_id}', 'collection:groups'],
  }),
  write('POST', {
    path: '/agents/group/:group_id',
    summary: 'Assign agents to a group',
    ...writing,
    params: { group_id: groupId },
    body: { kind: 'fields', types: fieldTypes, fields: { ids: agentIdList } },
    answer: { ...affected, of: 'assigned agents; failed_ids holds plain ids' },
    makesStale: ['agent:{body.ids}', 'group:{group_id}', ...memberships],
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
        note: 'presence alone counts; absent appends',
      },
    },
    answer: message,
    makesStale: ['agent:{agent_id}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/:agent_id/group',
    summary: 'Take an agent out of all groups',
    ...writing,
    params: { agent_id: agentId },
    answer: message,
    makesStale: ['agent:{agent_id}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/:agent_id/group/:group_id',
    summary: 'Take an agent out of a group',
    ...writing,
    params: { agent_id: agentId, group_id: groupId },
    answer: message,
    makesStale: ['agent:{agent_id}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/group/:group_id',
    summary: 'Take agents out of a group',
    ...writing,
    params: { group_id: groupId },
    query: { ids: { ...agentIds, required: 604 } },
    strictQuery: true,
    answer: affected,
    makesStale: ['agent:{query.ids}', 'group:{group_id}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/groups',
    summary: 'Remove groups',
    ...removing,
    query: { ids: { ...filter('array_names', 'group names, separated by commas'), required: 604 } },
    strictQuery: true,
    answer: { ...affected, of: '{msg, ids, affected_agents}' },
    makesStale: ['group:{query.ids}', 'agent:{answer.affected_agents}', ...memberships],
  }),
  write('DELETE', {
    path: '/agents/groups/:group_id',
    summary: 'Remove a group',
    ...removing,
    params: { group_id: groupId },
    answer: { ...affected, of: '{msg, ids, affected_agents}' },
    makesStale: ['group:{group_id}', 'agent:{answer.affected_agents}', ...memberships],
  }),
]

export const groups: readonly Endpoint[] = [...reads, ...writes]
