/** Records of users, roles, policies and rules. */
import type { Endpoint } from '../endpoint.ts'
import { anyNode } from '../schemas/targets.ts'
import { distinctSince47, qSince47, raw, resourceWords, rows, select } from './params.ts'
import { cacheIn, master, read } from './record.ts'
import { list, param, text } from './values.ts'

const reading = {
  section: 'Security',
  permission: 'security:read',
  target: master(),
  cache: cacheIn('manager', 'security'),
} as const
/** The same at each node. */
const ofEveryNode = {
  section: 'Security',
  permission: 'security:read',
  target: anyNode,
  withoutFlags: ['wait_for_complete'],
  cache: cacheIn('manager', 'security'),
} as const

export const securityReads: readonly Endpoint[] = [
  read({
    path: '/security/user/authenticate',
    section: 'Security',
    summary: 'Get a token (GET)',
    permission: 'signedIn',
    target: { kind: 'edge', operation: 'logIn' },
    query: { raw },
    withoutFlags: ['pretty', 'wait_for_complete'],
    cache: { never: 'the response is a token' },
  }),
  read({
    path: '/security/users/me',
    section: 'Security',
    summary: 'Get the user of the token',
    permission: 'signedIn',
    target: master(),
    cache: { never: 'the response is about the caller' },
  }),
  read({
    path: '/security/users/me/policies',
    section: 'Security',
    summary: 'Get the permissions of the token',
    permission: 'signedIn',
    target: master(),
    withoutFlags: ['wait_for_complete'],
    cache: cacheIn('manager', 'security'),
  }),
  read({
    ...ofEveryNode,
    path: '/security/actions',
    summary: 'List the actions of permissions',
    query: { endpoint: param('method and path of an operation', text()) },
  }),
  read({
    ...ofEveryNode,
    path: '/security/resources',
    summary: 'List the resources of permissions',
    query: { resource: resourceWords },
  }),
  read({
    ...reading,
    path: '/security/users',
    summary: 'List users',
    rights: ['security:read on user:id:{user_ids}'],
    query: {
      ...rows,
      user_ids: param('ids of users', list(text('numbers', { description: 'User ID', reference: 'user_ids' }))),
      select,
      q: qSince47,
      distinct: distinctSince47,
    },
  }),
  read({
    ...reading,
    path: '/security/roles',
    summary: 'List roles',
    rights: ['security:read on role:id:{role_ids}'],
    query: {
      ...rows,
      role_ids: param('ids of roles', list(text('numbers', { description: 'Role ID', reference: 'role_ids' }))),
      select,
      q: qSince47,
      distinct: distinctSince47,
    },
  }),
  read({
    ...reading,
    path: '/security/rules',
    summary: 'List security rules',
    rights: ['security:read on rule:id:{rule_ids}'],
    query: {
      ...rows,
      rule_ids: param(
        'ids of security rules',
        list(text('numbers', { description: 'Security rule ID', reference: 'security_rule_ids' })),
      ),
      select,
      q: qSince47,
      distinct: distinctSince47,
    },
  }),
  read({
    ...reading,
    path: '/security/policies',
    summary: 'List policies',
    rights: ['security:read on policy:id:{policy_ids}'],
    query: {
      ...rows,
      policy_ids: param(
        'ids of policies',
        list(text('numbers', { description: 'Policy ID', reference: 'policy_ids_rbac' })),
      ),
      select,
      q: qSince47,
      distinct: distinctSince47,
    },
  }),
  read({
    ...reading,
    path: '/security/config',
    summary: 'Get the security configuration',
    rights: ['security:read_config on *:*:*'],
  }),
]
