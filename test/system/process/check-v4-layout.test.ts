/** `check --connect` in front of nodes with the v4 layout. */
import t, { type Test } from 'tap'
import type { V4Options } from '../../../packages/simulator/src/index.ts'
import { account, configFolder } from './config.ts'
import { result } from './program.ts'

async function start(
  t: Test,
  { version, ...v4 }: V4Options & { version?: string } = {},
  cluster: object = {},
  roles: object = { alice: ['operator'] },
) {
  const { file, createKey, write, simulator } = await configFolder(t, {
    layout: 'v4',
    v4,
    ...(version !== undefined && { version }),
  })
  await createKey()
  write({ layout: 'v4', ...cluster }, { access: { users: 'users', roles, tokens: { keys: 'keys' } } })
  return { simulator, write, check: () => result(t, ['check', '--config', file, '--connect']) }
}

/** The settings of an account of these policies, which the simulator knows as `edge-2`. */
const policies = (...roles: NonNullable<NonNullable<V4Options['users']>[string]['roles']>) => ({
  v4: { users: { 'edge-2': { password: account.password, roles } } },
  cluster: { credentials: { username: 'edge-2', password: account.password } },
})

t.test('check names layout and version of each node, and accepts an account with all rights', async (t) => {
  const { check } = await start(t)
  const { out, code } = await check()
  t.equal(code, 0, out)
  t.match(out, /^master: ok \(status 200\), v4 layout, version 4\.\d+\.\d+$/m)
  t.match(out, /^worker-1: ok \(status 200\), v4 layout, version 4\.\d+\.\d+$/m)
  t.notMatch(out, 'warning')
  t.notMatch(out, account.password)
})

t.test('check warns of an account that may do less than the roles in use promise', async (t) => {
  const { v4, cluster } = policies('readonly', { actions: ['agent:restart'], resources: ['agent:id:001'] })
  const { check } = await start(t, v4, cluster, { alice: ['operator'], bob: ['reader'] })
  const { out, code } = await check()
  t.equal(code, 0, out)
  t.match(out, /^warning: role operator: .* it lacks .*agent:create on \*:\*:\*/m)
  t.match(out, /^warning: role operator: .* only parts of agent:restart on agent:id:\*; compare the policies/m)
  t.notMatch(out, 'warning: role reader')
  t.notMatch(out, /agent:upgrade|active-response/, 'no role in use promises it')
})

t.test('check finds the wrong layout, and nodes of different layouts', async (t) => {
  const { check, write, simulator } = await start(t, {}, { layout: 'v3' })
  const wrong = await check()
  t.equal(wrong.code, 1)
  t.match(
    wrong.out,
    /^master: failed: its API has the v4 layout, but cluster\.layout is v3; set cluster\.layout to v4 or auto$/m,
  )
  write({ layout: 'auto' })
  const auto = await check()
  t.equal(auto.code, 0, auto.out)
  t.match(auto.out, /^master: ok \(status 200\), v4 layout/m)
  simulator.setLayout('worker-1', 'v3')
  t.match((await check()).out, /^warning: nodes have different layouts \(v3: worker-1; v4: master\)/m)
})

t.test('a worker in front of release 5.0 has no API, which is no failure', async (t) => {
  const { check, write, simulator } = await start(t, { version: '5.0.0' })
  const { out, code } = await check()
  t.equal(code, 0, out)
  t.match(out, /^master-node: ok \(status 200\), v4 layout, version 5\.0\.0$/m)
  t.match(
    out,
    /^warning: worker1 does not answer: workers of release 5\.0 have no API, .*; remove it from cluster\.nodes$/m,
  )
  const nodes = simulator.nodes.map(({ name, type, url }) => ({ name, type, url })).reverse()
  write({ layout: 'auto', nodes })
  t.equal((await check()).code, 0, 'in any order')
})

t.test('check says plainly why a node answers no call', async (t) => {
  const { simulator, check, write } = await start(t)
  write({ layout: 'v4', credentials: { ...account, password: 'another one' } })
  const refused = await check()
  t.match(refused.out, /^master: failed: refusedCredentials, .*correct cluster\.credentials/m)

  write({ layout: 'v4' })
  simulator.v4.blockAddress('master')
  const blocked = await check()
  t.equal(blocked.code, 1)
  t.match(blocked.out, /^master: failed: the node refuses the address of the edge after failed logins \(6000\)/m)
  simulator.v4.restartApi('master')

  await simulator.faults.set('worker-1', { error: 1017 })
  t.match((await check()).out, /^worker-1: failed: the node is starting or restarting \(1017\)/m)
  await simulator.faults.set('worker-1', { error: 3023 })
  t.match((await check()).out, /^worker-1: failed: the worker is not connected to its master \(3023\)/m)
})

t.test('check says that the request limit of a node is reached', async (t) => {
  const { simulator, check } = await start(t, { requestsPerMinute: 20 })
  const [master] = simulator.nodes
  for (let sent = 0; sent < 20; sent++) await (await fetch(`${master?.url}/`)).arrayBuffer()
  const { out, code } = await check()
  t.equal(code, 1)
  t.match(out, /^master: failed: the request limit of the node is reached/m)
})
