/** Records of the API itself, overview, tasks, tests of rules, events. */
import type { Endpoint } from '../endpoint.ts'
import { anyNode, cacheIn, memberships } from '../schemas/targets.ts'
import { query, rows, word } from './params.ts'
import { master, read, write } from './record.ts'
import { json, list, param, text } from './values.ts'

const testing = {
  section: 'Logtest',
  permission: 'logtest:run',
  rights: ['logtest:run on *:*:*'],
  target: master(),
  invalidates: [],
  invalidatesNothingBecause: 'a test of rules changes no data of the manager',
} as const

export const service: readonly Endpoint[] = [
  read('/', 'Get basic information about the API', {
    section: 'API Info',
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
    section: 'Overview',
    permission: 'summary:read',
    target: master(),
    cache: cacheIn('summary', ...memberships, 'collection:nodes'),
  }),
  read('/tasks/status', 'List tasks with their status', {
    section: 'Tasks',
    permission: 'tasks:read',
    rights: ['task:status on *:*:*'],
    target: master(),
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
    section: 'Events',
    releases: { since: '4.7' },
    permission: 'events:write',
    rights: ['event:ingest on *:*:*'],
    target: master(),
    body: json({ events: list(text()) }),
    invalidates: [],
    invalidatesNothingBecause: 'events are no data that a read returns',
  }),
]
