/** Records of users, roles, policies and rules. */
import type { Param, V4Endpoint } from '../endpoint.ts'
import { anyNode, cacheIn } from '../schemas/shared.ts'
import { param, query, rows } from './parameters.ts'
import { read } from './shared.ts'
import { list, text, wordOf, wordsIn } from './value.ts'

const reading = {
  permission: 'security:read',
  cache: cacheIn('manager', 'security'),
} as const
/** The same at each node. */
const ofEveryNode = { ...reading, target: anyNode, withoutFlags: ['wait_for_complete'] } as const
export const loggingIn = {
  permission: 'signedIn',
  target: { kind: 'edge', operation: 'logIn' },
  query: query('raw'),
  withoutFlags: ['pretty', 'wait_for_complete'],
} as const

/** Returns the list of ids by which objects are read. */
function idsOf(what: string, description: string, reference: string): Param {
  return param(`ids of ${what}`, list(text('numbers', { description, reference })))
}

/** Returns the record of the list of objects of a kind. */
function listOf(
  path: `/security/${string}`,
  summary: string,
  [ids, param]: readonly [name: string, Param],
): V4Endpoint {
  const resource = ids.replace('_ids', '')
  return read<string>(path, summary, {
    ...reading,
    rights: [`security:read on ${resource}:id:{${ids}}`],
    query: query(...rows, { [ids]: param }, 'select', 'q@4.7', 'distinct@4.7'),
  })
}

export const securityReads: readonly V4Endpoint[] = [
  read('/security/user/authenticate', 'Get a token (GET)', {
    ...loggingIn,
    cache: { never: 'the response is a token' },
  }),
  read('/security/users/me', 'Get the user of the token', {
    ...reading,
    permission: 'signedIn',
    cache: { never: 'the response is about the caller' },
  }),
  read('/security/users/me/policies', 'Get the permissions of the token', {
    ...reading,
    permission: 'signedIn',
    withoutFlags: ['wait_for_complete'],
  }),
  read('/security/actions', 'List the actions of permissions', {
    ...ofEveryNode,
    query: { endpoint: param('method and path of an operation', text()) },
  }),
  read('/security/resources', 'List the resources of permissions', {
    ...ofEveryNode,
    query: {
      resource: param('resource', {
        ...wordOf(
          '*:* agent:group agent:id group:id node:id decoder:file list:file rule:file policy:id role:id user:id',
        ),
        wordReleases: wordsIn({ until: '4.14' }, 'decoder:file list:file rule:file'),
      }),
    },
  }),
  listOf('/security/users', 'List users', ['user_ids', idsOf('users', 'User ID', 'user_ids')]),
  listOf('/security/roles', 'List roles', ['role_ids', idsOf('roles', 'Role ID', 'role_ids')]),
  listOf('/security/rules', 'List security rules', [
    'rule_ids',
    idsOf('security rules', 'Security rule ID', 'security_rule_ids'),
  ]),
  listOf('/security/policies', 'List policies', ['policy_ids', idsOf('policies', 'Policy ID', 'policy_ids_rbac')]),
  read('/security/config', 'Get the security configuration', {
    ...reading,
    rights: ['security:read_config on *:*:*'],
  }),
]
