/** Records of the API itself, overview, tasks, tests of rules, events. */
import type { Endpoint } from '../endpoint.ts'
import { anyNode } from '../schemas/targets.ts'
import { agentsList, q, rows, select } from './params.ts'
import { cacheIn, master, read, write } from './record.ts'
import { json, list, param, text } from './values.ts'

export const service: readonly Endpoint[] = [
  read({
    path: '/',
    section: 'API Info',
    summary: 'Get basic information about the API',
    permission: 'signedIn',
    target: anyNode,
    withoutFlags: ['wait_for_complete'],
    cache: cacheIn('manager', 'cluster'),
  }),
  write('PUT', {
    path: '/logtest',
    section: 'Logtest',
    summary: 'Test an event against rules and decoders',
    permission: 'logtest:run',
    rights: ['logtest:run on *:*:*'],
    target: master(),
    body: json({ 'token?': text(), event: text(), log_format: text(), location: text() }),
    invalidates: [],
    invalidatesNothingBecause: 'a test of rules changes no data of the manager',
  }),
  write('DELETE', {
    path: '/logtest/sessions/:token',
    section: 'Logtest',
    summary: 'End a session of tests',
    permission: 'logtest:run',
    rights: ['logtest:run on *:*:*'],
    target: master(),
    params: { token: param('token of the session', text('alphanumeric')) },
    invalidates: [],
    invalidatesNothingBecause: 'a test of rules changes no data of the manager',
  }),
  read({
    path: '/overview/agents',
    section: 'Overview',
    summary: 'Get an overview of agents',
    permission: 'summary:read',
    target: master(),
    cache: cacheIn('summary', 'collection:agents', 'collection:groups', 'collection:nodes'),
  }),
  read({
    path: '/tasks/status',
    section: 'Tasks',
    summary: 'List tasks with their status',
    permission: 'tasks:read',
    rights: ['task:status on *:*:*'],
    target: master(),
    query: {
      ...rows,
      q,
      select,
      agents_list: agentsList,
      tasks_list: param('ids of tasks', list(text('numbers', { description: 'Task ID', reference: 'tasks_list' }))),
      command: param('command of the task', text('symbols_alphanumeric_param')),
      node: param('node that started the task', text('alphanumeric')),
      module: param('module that started the task', text('alphanumeric')),
      status: param('status of the task', text('alphanumeric')),
    },
    cache: { never: 'the state of running tasks' },
  }),
  write('POST', {
    path: '/events',
    section: 'Events',
    summary: 'Send events to analysisd',
    releases: { since: '4.7' },
    permission: 'events:write',
    rights: ['event:ingest on *:*:*'],
    target: master(),
    body: json({ events: list(text()) }),
    invalidates: [],
    invalidatesNothingBecause: 'events are no data that a read returns',
  }),
]
