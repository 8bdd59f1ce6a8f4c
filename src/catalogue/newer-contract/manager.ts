/** Records of the node that answers. */
import type { Endpoint } from '../endpoint.ts'
import { neverStale } from '../schemas/targets.ts'
import { cacheIn, master, read, write } from './record.ts'
import { bool, param } from './values.ts'

export const manager: readonly Endpoint[] = [
  read({
    path: '/manager/api/config',
    section: 'Manager',
    summary: 'Get the API configuration',
    permission: 'manager:read',
    rights: ['cluster:read_api_config on node:id:{node_id}, *:*:*'],
    target: master(),
    cache: cacheIn('manager', 'node:{master}', 'node:*'),
  }),
  write('PUT', {
    path: '/manager/restart',
    section: 'Manager',
    summary: 'Restart the manager',
    permission: 'manager:restart',
    rights: ['cluster:read on node:id:{node_id}, *:*:*', 'cluster:restart on node:id:{node_id}, *:*:*'],
    target: master(),
    invalidates: ['node:{master}', 'collection:nodes', 'cluster', 'validation', 'agent:*', 'collection:agents'],
    slow: true,
  }),
  read({
    path: '/manager/configuration/validation',
    section: 'Manager',
    summary: 'Check the configuration',
    permission: 'manager:read',
    rights: ['cluster:read on node:id:{node_id}, *:*:*'],
    target: master(),
    cache: neverStale(cacheIn('validation', 'validation')),
    slow: true,
  }),
  read({
    path: '/manager/version/check',
    section: 'Manager',
    summary: 'Check for newer releases',
    releases: { since: '4.9' },
    permission: 'manager:read',
    target: master(),
    query: { force_query: param('ask again instead of reading the last result', bool(false)) },
    withoutFlags: ['wait_for_complete'],
    cache: cacheIn('manager', 'node:{master}', 'node:*'),
  }),
  write('PUT', {
    path: '/manager/analysisd/reload',
    section: 'Manager',
    summary: 'Reload the ruleset of analysisd',
    releases: { since: '4.14' },
    permission: 'manager:restart',
    rights: ['cluster:read on node:id:{node_id}, *:*:*', 'cluster:restart on node:id:{node_id}, *:*:*'],
    target: master(),
    invalidates: ['node:{master}', 'collection:nodes', 'cluster', 'rules', 'decoders', 'lists'],
  }),
]
