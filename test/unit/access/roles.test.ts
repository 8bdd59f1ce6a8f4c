import fc from 'fast-check'
import t from 'tap'
import { createRoles, resolvePermissions } from '../../../src/access/roles.ts'
import { permissions } from '../../../src/contracts/index.ts'
import { allows, builtInRoles } from '../../../src/core/access.ts'

const { reader, operator, administrator, passthrough } = builtInRoles

t.test('a wildcard covers all actions or all resources, not longer names', async (t) => {
  t.ok(allows(['agents:*'], 'agents:delete'))
  t.ok(allows(['*:read'], 'rules:read'))
  t.ok(allows(['*'], 'cluster:restart'))
  t.ok(allows(['*:*'], 'secrets:read'))
  t.notOk(allows(['agents:*'], 'agents-more:delete'))
  t.notOk(allows(['agents:read'], 'agents:write'))
  t.notOk(allows([], 'agents:read'))
})

t.test('*:read covers neither secrets:read nor operations:read', async (t) => {
  t.notOk(allows(['*:read'], 'secrets:read'))
  t.notOk(allows(['*:read'], 'operations:read'))
  t.ok(allows(['secrets:*'], 'secrets:read'))
})

t.test('who may read all stored responses may read the own ones', async (t) => {
  for (const granted of ['cache:read', 'cache:*', '*:read', '*']) t.ok(allows([granted], 'cache:read-own'), granted)
  t.notOk(allows(['cache:read-own'], 'cache:read'))
  t.notOk(allows(['cache:purge', 'agents:*'], 'cache:read-own'))
})

t.test('the built-in roles grant exactly these permissions of the catalogue', async (t) => {
  const withheld = (granted: readonly string[]) => permissions.filter((word) => !allows(granted, word))
  t.same(withheld(administrator), [])
  t.same(withheld(operator), [
    'active-response:run',
    'agents:upgrade',
    'cluster:restart',
    'events:write',
    'files:delete',
    'files:write',
    'manager:restart',
    'nodes:drain',
    'rootcheck:clear',
    'security:write',
    'syscheck:clear',
  ])
  t.same(
    withheld(reader),
    permissions.filter((word) => !/:read(?:-own)?$/.test(word) || ['secrets:read', 'operations:read'].includes(word)),
  )
  t.same(withheld(passthrough), ['cache:purge', 'cache:read', 'nodes:drain', 'operations:read'])
  t.ok(createRoles({}, { copy: [...operator] }, permissions), 'nothing is granted that no endpoint needs')
})

t.test('roles resolve to their permissions, each once; unknown roles grant nothing', async (t) => {
  const own = { helpdesk: ['agents:read', 'agents:restart'], other: ['agents:read'] }
  t.same(resolvePermissions(['helpdesk', 'other'], own), ['agents:read', 'agents:restart'])
  t.same(resolvePermissions(['constructor'], own), [])
})

t.test('own roles with a permission that no endpoint needs are refused', async (t) => {
  t.ok(createRoles({}, { fine: ['*', '*:read', 'agents:*', 'agents:read'] }, ['agents:read']))
  t.throws(() => createRoles({}, { odd: ['agents:raed'] }, ['agents:read']), /no endpoint needs agents:raed/)
})

t.test('without wildcards, exactly the granted permissions are allowed', async (t) => {
  const word = fc.constantFrom('agents', 'rules', 'secrets', 'read', 'write', 'x')
  const permission = fc.tuple(word, word).map(([resource, action]) => `${resource}:${action}`)
  const named = fc.property(fc.array(permission), permission, (granted, needed) => {
    return allows(granted, needed) === granted.includes(needed)
  })
  t.doesNotThrow(() => fc.assert(named))
})
