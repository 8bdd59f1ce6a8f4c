/** Release 5.0 of the simulated cluster: its operations, and its API on the master only. */
import t from 'tap'
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

t.test('release 5.0 makes tasks for agents of its own release, and reloads nodes', async (t) => {
  const { ask } = await startV4(t, { agents: 10, version: '5.0.0' })
  const node = 'master-node'
  const reloaded = await ask('PUT /agents/reload', { node })
  t.match(reloaded.json?.data?.failed_items, [{ error: { code: 1761 } }])
  t.match(await ask('PUT /cluster/reload', { node }), { status: 202, json: { data: { total_affected_items: 3 } } })
  t.equal((await ask('GET /manager/info', { node })).status, 404)
})
