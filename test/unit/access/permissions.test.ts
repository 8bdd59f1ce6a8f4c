import fc from 'fast-check'
import t from 'tap'
import { allows, ownRoleFaults, readyMadeRoles, resolvePermissions } from '../../../src/access/roles.ts'
import { permissions } from '../../../src/catalogue/index.ts'

const { reader, operator, administrator } = readyMadeRoles

t.test('wildcards cover what they say', async (t) => {
  t.ok(allows(['agents:*'], 'agents:delete'))
  t.ok(allows(['*:read'], 'rules:read'))
  t.ok(allows(['*'], 'cluster:restart'))
  t.ok(allows(['*:*'], 'secrets:read'))
  t.notOk(allows(['agents:*'], 'agents-more:delete'))
  t.notOk(allows(['agents:read'], 'agents:write'))
  t.notOk(allows([], 'agents:read'))
})

t.test('what is read by name only is not covered by reading everything', async (t) => {
  t.notOk(allows(['*:read'], 'secrets:read'))
  t.notOk(allows(['*:read'], 'operations:read'))
  t.ok(allows(['secrets:*'], 'secrets:read'))
})

t.test('the ready-made roles, against every permission of the catalogue', async (t) => {
  const withheld = (granted: readonly string[]) => permissions.filter((word) => !allows(granted, word))
  t.same(withheld(administrator), [])
  t.same(withheld(operator), [
    'active-response:run',
    'agents:upgrade',
    'cluster:restart',
    'files:delete',
    'files:write',
    'manager:restart',
    'rootcheck:clear',
    'syscheck:clear',
  ])
  t.same(
    withheld(reader),
    permissions.filter((word) => !word.endsWith(':read') || ['secrets:read', 'operations:read'].includes(word)),
  )
  t.same(ownRoleFaults({ copy: [...operator] }, permissions), [], 'nothing is granted that no endpoint needs')
})

t.test('roles resolve to their permissions, each once; unknown ones to a sentence', async (t) => {
  const own = { helpdesk: ['agents:read', 'agents:restart'], other: ['agents:read'] }
  t.same(resolvePermissions(['helpdesk', 'other'], own), { permissions: ['agents:read', 'agents:restart'], faults: [] })
  t.match(resolvePermissions(['constructor'], own), {
    permissions: [],
    faults: [/role constructor does not exist; there are reader/],
  })
})

t.test('own roles that cannot be meant are refused', async (t) => {
  t.same(ownRoleFaults({ fine: ['*', '*:read', 'agents:*', 'agents:read'] }, ['agents:read']), [])
  t.match(ownRoleFaults({ reader: ['*'] }), [/ready-made/])
  t.match(ownRoleFaults({ odd: ['agents'] }), [/no permission/])
  t.match(ownRoleFaults({ odd: ['agents:raed'] }, ['agents:read']), [/no endpoint needs agents:raed/])
})

t.test('nothing is allowed that no granted permission names', async (t) => {
  const word = fc.constantFrom('agents', 'rules', 'secrets', 'read', 'write', 'x')
  const permission = fc.tuple(word, word).map(([resource, action]) => `${resource}:${action}`)
  const named = fc.property(fc.array(permission), permission, (granted, needed) => {
    return allows(granted, needed) === granted.includes(needed)
  })
  t.doesNotThrow(() => fc.assert(named))
})
