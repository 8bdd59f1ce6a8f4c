/** The policies in docs/v4-layout.md are enough for the roles of the edge that they are meant for, and no more. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { startSimulator, type V4User } from '../../../packages/simulator/src/index.ts'
import { findMissingRights } from '../../../src/cli/missing-rights.ts'
import { type AccountRights, readAccountRights } from '../../../src/upstream/probes.ts'
import { defaultConfig } from '../../support/default-config.ts'
import { clusterOf } from '../upstream/fake-node.ts'

type Roles = NonNullable<V4User['roles']>

/** The policies of the page, in the order of its three parts: reading, everyday work, administration. */
const policies = [
  ...readFileSync('docs/v4-layout.md', 'utf8').matchAll(/\/security\/policies" -d '(\{.*?\}\})'/gs),
].map(([, json = '']) => JSON.parse(json) as { name: string; policy: Roles[number] })
const part = (pattern: RegExp) => policies.filter(({ name }) => pattern.test(name)).map(({ policy }) => policy)
const parts = {
  reader: part(/^edge-read-/),
  operator: part(/^edge-(?:read|work|create)/),
  administrator: policies.map(({ policy }) => policy),
}

async function rightsOf(t: Test, roles: Roles): Promise<AccountRights | undefined> {
  const password = 'only-for-tests'
  const simulator = await startSimulator({
    layout: 'v4',
    workers: 0,
    v4: { users: { 'edge-2': { password, roles } } },
  })
  t.teardown(() => simulator.close())
  const credentials = { mode: 'service', username: 'edge-2', password } as const
  const { call } = clusterOf(t, simulator.nodes[0]?.url ?? '', { layout: 'v4', credentials })
  return readAccountRights(call, { node: 'master', timeout: 20_000, caller: 'check' })
}

const usersOf = (role: string) => ({ access: { ...defaultConfig.access, roles: { ann: [role] } } })

for (const [role, roles] of Object.entries(parts)) {
  t.test(`an account with the documented policies may do what the role ${role} promises`, async (t) => {
    t.ok(roles.length > 0)
    t.strictSame(findMissingRights(usersOf(role), await rightsOf(t, roles)), [])
  })
}

t.test('the policies of a lesser role are not enough for a greater one', async (t) => {
  t.equal(findMissingRights(usersOf('operator'), await rightsOf(t, parts.reader)).length, 1)
  t.equal(findMissingRights(usersOf('administrator'), await rightsOf(t, parts.operator)).length, 1)
})

t.test('in front of release 5.0 an account needs no rights for what is gone', async (t) => {
  const gone = /^(?:active-response|ciscat|decoders|lists|rootcheck|rules|sca|syscheck|syscollector):/
  const rights: AccountRights = ({ action }) => (gone.test(action) ? 'none' : 'all')
  t.strictSame(findMissingRights(usersOf('administrator'), rights, '5.0.0'), [])
  t.equal(findMissingRights(usersOf('administrator'), rights, '4.14.7').length, 1)
})

t.test('the account may not change users, roles and settings of the API', async (t) => {
  const actions = parts.administrator.flatMap((policy) => (typeof policy === 'string' ? [] : policy.actions))
  t.ok(actions.length > 25)
  t.strictSame(
    actions.filter((action) => /^security:|_api_config$/.test(action)),
    [],
  )
})
