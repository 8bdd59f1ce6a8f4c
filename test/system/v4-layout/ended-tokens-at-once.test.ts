/**
 * Release 5.0 answers ten calls a minute whose token has ended. If all tokens end past the edge while many calls are in flight, the
 * node refuses the others as too many: their tokens have ended as well, and no login is refused for it.
 */
import t from 'tap'
import { startSimulator, type V4Options } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

const PASSWORD = 'Only-for-1-test'
const USERS = Array.from({ length: 16 }, (_, at) => `user-${at}`)

t.test('calls of 16 users in flight, whose tokens have ended past the edge', async (t) => {
  const v4: V4Options = {
    requestsPerMinute: 300,
    unauthenticatedPerMinute: 10,
    users: Object.fromEntries(USERS.map((user) => [user, { password: PASSWORD, roles: ['administrator'] }])),
  }
  const simulator = await startSimulator({ layout: 'v4', version: '5.0.0', agents: 5, workers: 0, v4 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      cluster: { layout: 'v4', credentials: { mode: 'passthrough', username: null, password: null } },
      access: { users: null, roles: null },
      cache: { enabled: false },
    },
  })
  t.teardown(() => edge.close())
  const get = async (user: string, offset: number) => {
    const authorization = `Basic ${btoa(`${user}:${PASSWORD}`)}`
    return (await fetch(`${edge.url}/agents?offset=${offset}`, { headers: { authorization } })).status
  }
  const getOfAll = (offset: number) => Promise.all(USERS.map((user) => get(user, offset)))
  t.strictSame([...new Set(await getOfAll(0))], [200])
  const [master] = simulator.nodes
  const login = await fetch(`${master?.url}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`user-0:${PASSWORD}`)}` },
  })
  const revoked = await fetch(`${master?.url}/security/user/revoke`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${await login.text()}` },
  })
  t.equal(revoked.status, 200)
  t.strictSame([...new Set(await getOfAll(1))], [200])
  t.ok(simulator.v4.refusedRequests('master-node') > 0)
})
