/**
 * Records of the API itself, overview, tasks, tests of rules, events; and of operations that the manager does not have: the
 * stored responses of the edge, and the descriptions of its API.
 */
import type { EdgeOperation, EdgeTarget, V4Endpoint } from '../endpoint.ts'
import { anyNode, cacheIn, memberships } from '../schemas/shared.ts'
import { param, query, required, rows, word } from './parameters.ts'
import { json, read, write } from './shared.ts'
import { bool, list, text, wordOf } from './value.ts'

const testing = {
  permission: 'logtest:run',
  rights: ['logtest:run on *:*:*'],
  invalidates: [],
  invalidatesNothingBecause: 'a test of rules changes no data of the manager',
} as const

export const service: readonly V4Endpoint[] = [
  read('/', 'Get basic information about the API', {
    permission: 'signedIn',
    target: anyNode,
    withoutFlags: ['wait_for_complete'],
    cache: cacheIn('manager', 'cluster'),
  }),
  write('PUT', '/logtest', 'Test an event against rules and decoders', {
    ...testing,
    body: json({ 'token?': text(), event: text(), log_format: text(), location: text() }),
  }),
  write('DELETE', '/logtest/sessions/:token', 'End a session of tests', {
    ...testing,
    params: { token: word('token of the session') },
  }),
  read('/overview/agents', 'Get an overview of agents', {
    permission: 'summary:read',
    cache: cacheIn('summary', ...memberships, 'collection:nodes'),
  }),
  read('/tasks/status', 'List tasks with their status', {
    permission: 'tasks:read',
    rights: ['task:status on *:*:*'],
    query: query(...rows, 'q', 'select', 'agents_list', {
      tasks_list: param('ids of tasks', list(text('numbers', { description: 'Task ID', reference: 'tasks_list' }))),
      command: param('command of the task', text('symbols_alphanumeric_param')),
      node: word('node that started the task'),
      module: word('module that started the task'),
      status: word('status of the task'),
    }),
    cache: { never: 'the state of running tasks' },
  }),
  write('POST', '/events', 'Send events to analysisd', {
    releases: { since: '4.7' },
    permission: 'events:write',
    rights: ['event:ingest on *:*:*'],
    body: json({ events: list(text()) }),
    invalidates: [],
    invalidatesNothingBecause: 'events are no data that a read returns',
  }),
]

const reading = {
  permission: 'cache:read-own',
  cache: { never: 'describes the cache itself' },
  beyondSeed: true,
} as const
const purging = {
  permission: 'cache:purge',
  minimal: 'affected_items is empty, and total_affected_items counts',
  invalidates: [],
  invalidatesNothingBecause: 'removes stored responses; no data changes',
  beyondSeed: true,
} as const
const describing = {
  permission: 'signedIn',
  response: { data: 'document', schema: 'OpenApiDocument' },
  cache: { never: 'part of the edge: revalidated by its entity tag' },
  beyondSeed: true,
} as const

const group = param(
  'cache group',
  wordOf('agents manager cluster rules decoders lists syscheck rootcheck sca summary syscollector ciscat validation'),
)
const tag = param('tag, such as agent:001', text())
const endpoint = param('path of an endpoint, with v3: in front of one of the v3 contract', text('paths'))
const url = required('path and query of a GET, with v3: in front of one of the v3 contract', text())
const purgeOptions = {
  preview: param('only report what would be purged', bool(false)),
  soft: param('mark as stale instead of removing', bool(false)),
}

function by(operation: EdgeOperation): EdgeTarget {
  return { kind: 'edge', operation }
}

export const edge: readonly V4Endpoint[] = [
  read('/cache', 'List the stored responses of the cache', {
    ...reading,
    query: query('offset', 'limit', 'sort', 'search', 'select', { group, tag, endpoint }),
    target: by('cacheEntries'),
  }),
  read('/cache/groups', 'Count the stored responses by cache group', { ...reading, target: by('cacheGroups') }),
  read('/cache/config', 'Get the configuration of the cache', { ...reading, target: by('cacheConfig') }),
  read('/cache/explain', 'Explain whether the next request of a URL would hit', {
    ...reading,
    query: { url },
    target: by('cacheExplain'),
  }),
  write('DELETE', '/cache', 'Purge stored responses of the cache', {
    ...purging,
    query: { key: param('keys of the stored responses', list(text('names'))), endpoint, tag, ...purgeOptions },
    target: by('cacheClear'),
  }),
  write('DELETE', '/cache/:group', 'Purge the stored responses of one cache group', {
    ...purging,
    params: { group },
    query: purgeOptions,
    target: by('cacheClearGroup'),
  }),
  read('/openapi.json', 'Get the OpenAPI document of the v3 contract', {
    ...describing,
    target: by('describeApi'),
  }),
  read('/openapi-v4.json', 'Get the OpenAPI document of this contract', {
    ...describing,
    target: by('describeV4Api'),
  }),
]
