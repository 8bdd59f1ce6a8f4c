/** Faults of tokens and logins: right responses for clients, and never a storm of logins. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'

const LOGIN = '/security/user/authenticate'
const world = { layout: 'v4', workers: 1, agents: 5 } as const
const settings = { cluster: { layout: 'v4', discover: false } }

t.test('many clients at once, several replicas: one login of each replica, and every request succeeds', async (t) => {
  const simulator = await startSimulator({ ...world, password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edges = await Promise.all([1, 2, 3].map(() => startEdge({ nodes: simulator.nodes, settings })))
  t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
  simulator.seen.splice(0)
  simulator.v4.revokeTokens()
  const work = edges.flatMap((edge) =>
    Array.from({ length: 30 }, async (_, at) => {
      const headers = { authorization: edge.authorization('admin') }
      return (await fetch(`${edge.url}/agents/00${1 + (at % 5)}?select=id`, { headers })).status
    }),
  )
  t.same(new Set(await Promise.all(work)), new Set([200]))
  const logins = simulator.seen.filter(({ url, node }) => url === LOGIN && node === 'master')
  t.equal(logins.length, edges.length)
})

t.test(
  'after a revocation and at the end of tokens, reads and writes succeed, and each write is sent once more',
  async (t) => {
    const { simulator, edge } = await simulated(t, world, { settings })
    const headers = { authorization: edge.authorization('admin') }
    const scan = () => fetch(`${edge.url}/syscheck/001`, { method: 'PUT', headers })
    t.equal((await scan()).status, 200)
    for (const end of [() => simulator.v4.revokeTokens(), () => simulator.v4.expireTokens()]) {
      end()
      simulator.seen.splice(0)
      t.equal((await scan()).status, 200)
      const sent = simulator.seen.filter(({ method, url }) => method === 'PUT' && url.startsWith('/syscheck'))
      t.equal(sent.length, 2, 'refused, then carried out')
      t.equal(simulator.seen.filter(({ url }) => url === LOGIN).length, 1)
      end()
      t.equal((await fetch(`${edge.url}/agents/00${simulator.seen.length % 5}`, { headers })).status, 200)
    }
  },
)

t.test('while the node restarts, clients get 1017, and afterwards the responses', async (t) => {
  const { simulator, edge } = await simulated(t, world, { settings })
  const headers = { authorization: edge.authorization('admin') }
  await simulator.faults.set('master', { error: 1017 })
  simulator.v4.revokeTokens()
  const response = await fetch(`${edge.url}/agents/003`, { headers })
  t.match([response.status, await response.json()], [200, { error: 1017 }])
  await simulator.faults.clear()
  await eventually(async () => (await fetch(`${edge.url}/agents/003`, { headers })).status === 200)
})

t.test('a wrong password of the edge: 927 for every request, not ready, and few logins', async (t) => {
  const simulator = await startSimulator({ ...world, password: 'another' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin') }
  for (let turn = 0; turn < 20; turn += 1) {
    const response = await fetch(`${edge.url}/agents/00${turn % 5}`, { headers })
    t.match([response.status, await response.json()], [502, { error: 927 }])
  }
  const logins = simulator.seen.filter(({ url, node }) => url === LOGIN && node === 'master')
  t.ok(logins.length <= 3, `${logins.length} logins`)
  const ready = await fetch(`${edge.operationsUrl}/readyz?verbose`)
  t.equal(ready.status, 503)
  t.match(await ready.text(), /credentials/)
})

t.test('mode passthrough: wrong passwords for a name end its logins with 904, and no other requests', async (t) => {
  const users = { ann: { password: 'ann-pw', roles: ['administrator'] }, bob: { password: 'bob-pw' } } as const
  const simulator = await startSimulator({ ...world, v4: { users } })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      cluster: { ...settings.cluster, credentials: { mode: 'passthrough', username: null, password: null } },
      // The limits on addresses would end the attack sooner.
      access: { users: null, roles: null, limits: { failedLogins: 1000 } },
    },
  })
  t.teardown(() => edge.close())
  const get = (user: string, password: string) =>
    fetch(`${edge.url}/agents/001`, { headers: { authorization: `Basic ${btoa(`${user}:${password}`)}` } })
  t.equal((await get('ann', 'ann-pw')).status, 200)
  const guesses = await Promise.all(Array.from({ length: 12 }, (_, at) => get('bob', `wrong-${at}`)))
  const statuses = guesses.map(({ status }) => status)
  t.equal(statuses.filter((status) => status === 401).length, 8)
  t.equal(statuses.filter((status) => status === 429).length, 4)
  const blocked = await get('bob', 'bob-pw')
  t.match([blocked.status, await blocked.json()], [429, { error: 904 }])
  t.ok(Number(blocked.headers.get('retry-after')) > 200)
  t.equal((await get('ann', 'ann-pw')).status, 200)
  const refused = simulator.seen.filter(({ url, headers }) => url === LOGIN && String(headers.authorization) !== '')
  t.ok(refused.length <= 12, `${refused.length} logins`)
})

t.test('a corrected password is used as soon as the configuration is reloaded', async (t) => {
  const simulator = await startSimulator({ ...world, password: 'corrected' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings, reloads: true })
  t.teardown(() => edge.close())
  const get = () => fetch(`${edge.url}/agents/001`, { headers: { authorization: edge.authorization('admin') } })
  t.equal((await get()).status, 502)
  const file = join(edge.folder, 'edge.yaml')
  await writeFile(file, (await readFile(file, 'utf8')).replace('only-for-tests', 'corrected'))
  await edge.edge.reload()
  await eventually(async () => (await get()).status === 200)
  await eventually(async () => (await fetch(`${edge.operationsUrl}/readyz`)).status === 200)
})
