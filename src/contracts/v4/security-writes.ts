/** Records that change users, roles, policies and rules. */
import type { Param, V4Endpoint } from '../endpoint.ts'
import { param, required } from './parameters.ts'
import { loggingIn } from './security.ts'
import { json, master, write } from './shared.ts'
import { bool, integer, list, object, oneOf, text, type Value } from './value.ts'

const tokenOnly = { invalidates: [], invalidatesNothingBecause: 'tokens are no data of the manager' } as const

/** What a role may see is part of each response. `rights` ends the acceptance of all tokens. */
const invalidates = ['security', 'rights', 'cache'] as const
const writing = { permission: 'security:write', invalidates } as const
/** A new object has no effect until it is added to a user or a role. */
const creating = { ...writing, invalidates: ['security'] } as const
const ofUsers = { ...writing, endsTokens: 'users' } as const
const ofRoles = { ...writing, endsTokens: 'roles' } as const

function idsOrAll(what: string): Param {
  return required(`ids of ${what}`, list(text('numbers_or_all')))
}

function someIds(what: string): Param {
  return required(`ids of ${what}`, list(text('numbers')))
}

const position = param('position among the others, from 0', integer({ minimum: 0 }))
const name = text('names', { maxLength: 64 })
const policy = object({ actions: list(text()), resources: list(text()), effect: text() })

/** Returns the records that create, delete and change objects of a kind. A change names some of the fields. */
function writesOf(
  resource: 'role' | 'rule' | 'policy',
  part: string,
  what: string,
  fields: Readonly<Record<string, Value>>,
): readonly V4Endpoint[] {
  const many = what.replace(resource, part)
  const changing = { ...writing, endsTokens: resource === 'role' ? 'roles' : 'rolesOfRows' } as const
  const changed = Object.fromEntries(Object.entries(fields).map(([field, value]) => [`${field}?`, value]))
  return [
    write<string>('POST', `/security/${part}`, `Create a ${what}`, {
      ...creating,
      rights: ['security:create on *:*:*'],
      body: json(fields),
    }),
    write<string>('DELETE', `/security/${part}`, `Delete ${many}`, {
      ...changing,
      rights: [`security:delete on ${resource}:id:{${resource}_ids}`],
      query: { [`${resource}_ids`]: idsOrAll(many) },
    }),
    write<string>('PUT', `/security/${part}/:${resource}_id`, `Change a ${what}`, {
      ...changing,
      rights: [`security:update on ${resource}:id:{${resource}_id}`],
      body: json(changed),
    }),
  ]
}

export const securityWrites: readonly V4Endpoint[] = [
  write('DELETE', '/security/user/authenticate', 'Revoke the tokens of the user of the token', {
    permission: 'signedIn',
    target: { kind: 'edge', operation: 'logOut' },
    withoutFlags: ['pretty', 'wait_for_complete'],
    invalidates: ['tokens:{caller}'],
    endsTokens: 'caller',
  }),
  write('POST', '/security/user/authenticate/run_as', 'Get a token for an authorization context', {
    ...loggingIn,
    ...tokenOnly,
    body: json({}, { open: true }),
  }),
  write('PUT', '/security/user/revoke', 'Revoke all tokens', {
    ...writing,
    endsTokens: 'all',
    rights: ['security:revoke on *:*:*'],
    target: master('several'),
    withoutFlags: ['pretty', 'wait_for_complete'],
  }),
  write('PUT', '/security/users/:user_id/run_as', 'Allow or forbid a user to use authorization contexts', {
    ...ofUsers,
    rights: ['security:edit_run_as on *:*:*'],
    query: { allow_run_as: param('whether the user may use authorization contexts', bool(false)) },
  }),
  write('POST', '/security/users', 'Create a user', {
    ...creating,
    endsTokens: 'newUsers',
    rights: ['security:create_user on *:*:*'],
    body: json({ username: text('names', { minLength: 4, maxLength: 64 }), password: text('password') }),
  }),
  write('DELETE', '/security/users', 'Delete users', {
    ...ofUsers,
    rights: ['security:delete on user:id:{user_ids}'],
    query: { user_ids: idsOrAll('users') },
  }),
  write('PUT', '/security/users/:user_id', 'Change the password of a user', {
    ...ofUsers,
    rights: ['security:update on user:id:{user_id}'],
    body: json({ 'password?': text('password') }),
  }),
  ...writesOf('role', 'roles', 'role', { name }),
  ...writesOf('rule', 'rules', 'security rule', { name, rule: object() }),
  ...writesOf('policy', 'policies', 'policy', { name, policy }),
  write('POST', '/security/users/:user_id/roles', 'Add roles to a user', {
    ...ofUsers,
    rights: ['security:update on user:id:{user_id}, role:id:{role_ids}'],
    query: { role_ids: idsOrAll('roles'), position },
  }),
  write('DELETE', '/security/users/:user_id/roles', 'Remove roles from a user', {
    ...ofUsers,
    rights: ['security:delete on user:id:{user_id}', 'security:delete on role:id:{role_ids}'],
    query: { role_ids: idsOrAll('roles') },
  }),
  write('POST', '/security/roles/:role_id/policies', 'Add policies to a role', {
    ...ofRoles,
    rights: ['security:update on role:id:{role_id}, policy:id:{policy_ids}'],
    query: { policy_ids: someIds('policies'), position },
  }),
  write('DELETE', '/security/roles/:role_id/policies', 'Remove policies from a role', {
    ...ofRoles,
    rights: ['security:delete on role:id:{role_id}', 'security:delete on policy:id:{policy_ids}'],
    query: { policy_ids: idsOrAll('policies') },
  }),
  write('POST', '/security/roles/:role_id/rules', 'Add security rules to a role', {
    ...ofRoles,
    rights: ['security:update on role:id:{role_id}, rule:id:{rule_ids}'],
    query: { rule_ids: someIds('security rules') },
  }),
  write('DELETE', '/security/roles/:role_id/rules', 'Remove security rules from a role', {
    ...ofRoles,
    rights: ['security:delete on role:id:{role_id}', 'security:delete on rule:id:{rule_ids}'],
    query: { rule_ids: idsOrAll('security rules') },
  }),
  write('PUT', '/security/config', 'Change the security configuration', {
    ...writing,
    endsTokens: 'all',
    rights: ['security:update_config on *:*:*'],
    body: json({ 'auth_token_exp_timeout?': integer({ minimum: 30 }), 'rbac_mode?': oneOf('white', 'black') }),
  }),
  write('DELETE', '/security/config', 'Reset the security configuration', {
    ...writing,
    endsTokens: 'all',
    rights: ['security:update_config on *:*:*'],
  }),
  write('POST', '/security/user/authenticate', 'Get a token', {
    ...loggingIn,
    ...tokenOnly,
    releases: { since: '4.5' },
  }),
]
