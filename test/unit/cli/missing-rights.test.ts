import t from 'tap'
import { findMissingRights } from '../../../src/cli/missing-rights.ts'
import type { Config } from '../../../src/config/schema.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import accountRights from '../../../src/contracts/translations/account-rights.json' with { type: 'json' }
import type { Extent, Right } from '../../../src/upstream/probes.ts'

/** The part of the settings that is read, with these roles of users. */
const accessWith = (roles: Record<string, string[]>, issuers: object[] = [], customRoles = {}) =>
  ({ access: { roles, customRoles, tokens: { issuers } } }) as unknown as Pick<Config, 'access'>

const rightsBy = (extentOf: (action: string) => Extent) => (right: Right) => extentOf(right.action)

t.test('every permission of an endpoint that nodes answer has its rights on the manager', async (t) => {
  const promised = catalogue.filter(({ target }) => target.kind !== 'edge').map(({ permission }) => permission)
  const noRights = rightsBy(() => 'none')
  for (const permission of new Set(promised)) {
    const access = accessWith({ ann: ['one'] }, [], { one: [permission] })
    if (permission !== 'signedIn') t.match(findMissingRights(access, noRights), [/it lacks [a-z]/], permission)
  }
  for (const permission of Object.keys(accountRights)) t.ok(promised.includes(permission as never), permission)
})

t.test('an account with all rights causes no warning', async (t) => {
  t.strictSame(
    findMissingRights(
      accessWith({ ann: ['administrator'] }),
      rightsBy(() => 'all'),
    ),
    [],
  )
})

t.test('a missing right is named for each role in use that promises it, and for no other', async (t) => {
  const rights = rightsBy((action) => (action === 'agent:restart' ? 'none' : 'all'))
  const lines = findMissingRights(accessWith({ ann: ['operator'], bob: ['reader'] }), rights)
  t.strictSame(lines, [
    'role operator: the account may not do what the role promises; it lacks agent:restart on agent:id:*',
  ])
  t.strictSame(findMissingRights(accessWith({ bob: ['reader'] }), rights), [])
})

t.test('a right on some objects only is named, because lists are cut without an error', async (t) => {
  const rights = rightsBy((action) => (action === 'agent:read' ? 'some' : 'all'))
  const [line] = findMissingRights(accessWith({ bob: ['reader'] }), rights)
  t.match(line, /role reader: the node leaves out of lists .* only parts of agent:read on agent:id:\*$/)
})

t.test('roles of token issuers and custom roles count', async (t) => {
  const rights = rightsBy((action) => (action === 'agent:upgrade' ? 'none' : 'all'))
  const custom = { upgrader: ['agents:upgrade'] }
  t.match(findMissingRights(accessWith({}, [{ roles: { x: ['upgrader'] } }], custom), rights), [/role upgrader/])
  const byClaim = findMissingRights(accessWith({}, [{ rolesClaim: 'roles' }], custom), rights)
  t.strictSame(
    byClaim.map((line) => line.split(':')[0]),
    ['role administrator', 'role passthrough', 'role upgrader'],
  )
})

t.test('rights that the node does not show are no silent success', async (t) => {
  t.match(findMissingRights(accessWith({ bob: ['reader'] }), undefined), [/does not show the rights/])
})
