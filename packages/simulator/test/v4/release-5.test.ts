/** Release 5.0 of the simulated cluster: its operations, and its API on the master only. */
import t from 'tap'
import { nodeSettings, startCluster } from '../../src/commands/simulate.ts'
import { startV4 } from './ask.ts'

t.test('a cluster of release 5.0 has an API on the master only', async (t) => {
  const { sim, ask } = await startV4(t, { agents: 10, version: '5.0.0' })
  t.same(
    sim.nodes.map(({ name }) => name),
    ['master-node', 'worker1', 'worker2'],
  )
  const node = 'master-node'
  t.equal((await ask('GET /', { node })).json?.data?.api_version, '5.0.0')
  t.equal((await ask('GET /cluster/worker1/info', { node })).json?.data?.total_affected_items, 1)
  await t.rejects(fetch(sim.nodes[1]?.url ?? ''), 'the port is closed')
  await sim.promote('worker1')
  t.equal((await fetch(sim.nodes[0]?.url ?? '')).status, 401, 'the next master has an API')
  await t.rejects(ask('GET /', { node }))
})

t.test('a worker that is upgraded to release 5.0 stops answering', async (t) => {
  const { sim, ask } = await startV4(t, { agents: 1, version: '4.14.0' })
  t.equal((await ask('GET /', { node: 'worker-1' })).status, 200)
  for (const node of sim.world.nodes) node.version = '5.0.0'
  await t.rejects(ask('GET /', { node: 'worker-1' }))
  t.equal((await ask('GET /')).json?.data?.api_version, '5.0.0')
})

t.test('release 5.0 makes tasks for agents of the same release, and reloads nodes', async (t) => {
  const { ask } = await startV4(t, { agents: 10, version: '5.0.0' })
  const node = 'master-node'
  const reloaded = await ask('PUT /agents/reload', { node })
  t.match(reloaded.json?.data?.failed_items, [{ error: { code: 1761 } }])
  t.match(await ask('PUT /cluster/reload', { node }), { status: 202, json: { data: { total_affected_items: 3 } } })
  t.equal((await ask('GET /manager/info', { node })).status, 404)
})

t.test('the commands start a release of the layout, and list its nodes with an API', async (t) => {
  const options = { agents: 1, workers: 1, seed: 1, release: '5.0.0' }
  const cluster = await startCluster({ ...options, layout: 'v4' }, { port: 0 })
  t.teardown(() => cluster.close())
  t.match(nodeSettings(cluster), [{ name: 'master-node', type: 'master' }])
  await t.rejects(startCluster({ ...options, layout: 'v3' }, { port: 0 }), {
    message: 'no simulated node of the layout v3 has release 5.0.0',
  })
})

t.test('HEAD has the headers of GET, and tokens say their millisecond', async (t) => {
  const { ask, logIn } = await startV4(t, { agents: 1, version: '5.0.0' })
  const head = await ask('HEAD /agents')
  t.match(head, { status: 200, text: '', headers: { 'content-type': 'application/json' } })
  const claims = JSON.parse(
    Buffer.from((await logIn(undefined, 'master-node')).split('.')[1] ?? '', 'base64url').toString(),
  )
  t.type(claims.nbf_ms, 'number')
})

t.test('the key of the cluster is hidden from users who may not change the configuration', async (t) => {
  const users = { ann: { password: 'ann-pw', roles: ['cluster_readonly'] } } as const
  const { sim, ask } = await startV4(t, { agents: 1, version: '5.0.0', v4: { users } })
  for (const path of [
    '/cluster/local/config',
    '/cluster/worker1/configuration',
    '/cluster/worker1/configuration?raw=true',
  ]) {
    t.match((await ask(`GET ${path}`)).text, sim.world.clusterKey, path)
    const { text } = await ask(`GET ${path}`, { user: 'ann' })
    t.notMatch(text, sim.world.clusterKey, path)
    t.match(text, '*****', path)
  }
})
