/** Release 5.0 answers ten requests of an address in a minute without valid credentials. Another program may use them up. */
import t from 'tap'
import { startSimulator, type V4Options } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'

t.test('a wrong login that the node answers with 429 does not stop the requests of other users', async (t) => {
  const password = 'Only-for-1-test'
  const v4: V4Options = {
    requestsPerMinute: 300,
    unauthenticatedPerMinute: 10,
    users: { ann: { password, roles: ['readonly'] } },
  }
  const simulator = await startSimulator({ layout: 'v4', version: '5.0.0', agents: 5, workers: 0, v4 })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      cluster: { layout: 'v4', credentials: { mode: 'passthrough', username: null, password: null } },
      access: { users: null, roles: null },
    },
  })
  t.teardown(() => edge.close())
  const get = (path: string, user: string, secret = password) =>
    fetch(edge.url + path, { headers: { authorization: `Basic ${btoa(`${user}:${secret}`)}` } })
  t.equal((await get('/agents?limit=1', 'ann')).status, 200)
  for (let sent = 0; sent < 10; sent += 1) await fetch(`${simulator.nodes[0]?.url}/nope`)
  const wrong = await get('/agents', 'bob', 'wrong')
  t.equal(wrong.status, 503)
  t.equal(wrong.headers.get('retry-after'), '60')
  t.ok(simulator.v4.refusedRequests('master-node') > 0)
  t.equal((await get('/agents?limit=2', 'ann')).status, 200)
})
