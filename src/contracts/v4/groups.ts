/** Records of groups of agents. */
import type { V4Endpoint } from '../endpoint.ts'
import { cacheIn } from '../schemas/shared.ts'
import { agentStatus, param, query, required, rows } from './parameters.ts'
import { file, json, read, write } from './shared.ts'
import { list, oneOf, text, wordsIn } from './value.ts'

const ofRootkits = wordsIn({ until: '4.14' }, 'rootkit_files rootkit_trojans')
const reading = { permission: 'groups:read', rights: ['group:read on group:id:{group_list}'] } as const
const ofFile = {
  permission: 'groups:read',
  secret: 'possible',
  query: {
    type: param(
      'type of the file',
      list({ ...oneOf('conf', 'rootkit_files', 'rootkit_trojans', 'rcl'), wordReleases: ofRootkits }),
    ),
  },
  cache: { never: 'files of groups may contain credentials' },
} as const

export const groups: readonly V4Endpoint[] = [
  write('DELETE', '/groups', 'Delete groups', {
    permission: 'groups:delete',
    rights: ['group:delete on group:id:{group_list}'],
    query: { groups_list: required('names of groups', list(text('group_names_or_all', { minLength: 1 }))) },
    invalidates: [
      'group:{query.groups_list}',
      'group:{answer.affected_items}',
      'agent:*',
      'collection:agents',
      'collection:groups',
    ],
  }),
  read('/groups', 'List groups', {
    ...reading,
    query: query(...rows, 'groups_list', 'hash', 'q@4.7', 'select@4.7', 'distinct@4.7'),
    cache: cacheIn('agents', 'collection:agents', 'collection:groups'),
    snapshot: 'groups',
  }),
  write('POST', '/groups', 'Create a group', {
    permission: 'groups:write',
    rights: ['group:create on *:*:*'],
    body: json({ group_id: text('group_names', { maxLength: 128 }) }),
    invalidates: ['group:{body.group_id}', 'collection:groups'],
  }),
  read('/groups/:group_id/agents', 'List the agents of a group', {
    ...reading,
    query: query(...rows, 'select', { status: agentStatus }, 'q', 'distinct@4.7'),
    cache: cacheIn('agents', 'group:{group_id}', 'group:*', 'collection:agents'),
    snapshot: 'agents',
  }),
  read('/groups/:group_id/configuration', 'Get the configuration of a group', {
    ...reading,
    secret: 'possible',
    query: query('offset', 'limit'),
    cache: ofFile.cache,
  }),
  write('PUT', '/groups/:group_id/configuration', 'Replace the configuration of a group', {
    permission: 'groups:write',
    rights: ['group:update_config on group:id:{group_list}'],
    body: file('application/xml'),
    invalidates: ['group:{group_id}', 'collection:groups', 'agent:*'],
  }),
  read('/groups/:group_id/files', 'List the files of a group', {
    ...reading,
    query: query(...rows, 'hash', 'q@4.7', 'select@4.7', 'distinct@4.7'),
    cache: cacheIn('agents', 'group:{group_id}', 'group:*'),
    snapshot: 'groupFiles',
  }),
  read('/groups/:group_id/files/:file_name/json', 'Get a file of a group as JSON', {
    ...ofFile,
    releases: { until: '4.7' },
  }),
  read('/groups/:group_id/files/:file_name/xml', 'Get a file of a group as XML', {
    ...ofFile,
    releases: { until: '4.7' },
    response: { data: 'items', schema: 'V4Item', raw: { type: 'application/xml' } },
  }),
  read('/groups/:group_id/files/:file_name', 'Get a file of a group', {
    ...ofFile,
    releases: { since: '4.9' },
    rights: reading.rights,
    query: query(ofFile.query, 'raw'),
    response: { data: 'items', schema: 'V4Item', raw: { when: 'raw', type: 'application/xml' } },
  }),
]
