import t from 'tap'
import { eventually } from '../../../test/support/eventually.ts'
import { start } from './ask.ts'

t.test('faults of the connection', async (t) => {
  const { sim, ask } = await start(t)
  await sim.faults.set('master', { refuse: true })
  await t.rejects(ask('GET /version'), { cause: { code: 'ECONNREFUSED' } })
  t.equal(sim.seen.length, 0)
  await sim.faults.set('master', { reset: true })
  await t.rejects(ask('GET /version'), { cause: { code: /ECONNRESET|UND_ERR_SOCKET/ } })
  await sim.faults.set('master', { truncate: 10 })
  await t.rejects(ask('GET /version'))
  await sim.faults.set('master', { truncate: 0 })
  await t.rejects(ask('GET /version'))
  t.equal(sim.seen.length, 3, 'they reached the node')
  await sim.faults.clear('master')
  t.equal((await ask('GET /version')).status, 200, 'on the same address again')
})

t.test('faults of the response', async (t) => {
  const { sim, ask } = await start(t)
  await sim.faults.set('master', { html: true })
  const html = await ask('GET /agents')
  t.equal(html.headers.get('content-type'), 'text/html')
  t.match(html.text, /^<html>/)
  await sim.faults.set('master', { status: 500 })
  t.match(await ask('GET /agents'), { status: 500, text: '' })
  await sim.faults.set('master', { error: 3012 })
  t.same((await ask('GET /agents')).json, { error: 3012, message: 'Cluster is not running' })
  await sim.faults.set('master', { error: 1017 })
  t.equal((await ask('GET /agents')).json?.error, 1017)
  t.equal((await ask('GET /cluster/status')).json?.error, 0, 'the status is always served')
  t.equal((await ask('GET /agents', { node: 'worker-1' })).json?.error, 1017, 'also through another node')
})

t.test('faults of time', async (t) => {
  const { sim, ask } = await start(t)
  const took = async (request: string, node: string) => {
    const begin = performance.now()
    await ask(request, { node })
    return performance.now() - begin
  }
  await sim.faults.set('worker-1', { delay: 150 })
  t.ok((await took('GET /version', 'worker-1')) >= 145)
  t.ok((await took('PUT /agents/002/restart', 'master')) >= 145, 'a call that the master forwards is delayed too')
  await sim.faults.set('worker-1', { stall: true })
  let outcome = 'nothing'
  const before = sim.seen.length
  void ask('GET /version', { node: 'worker-1' }).then(
    () => (outcome = 'answered'),
    () => (outcome = 'cut'),
  )
  await eventually(() => sim.seen.length > before)
  t.equal((await ask('GET /version', { node: 'master' })).status, 200, 'other nodes answer a later request')
  t.equal(outcome, 'nothing')
})

t.test('faults can be limited to some requests or to a count', async (t) => {
  const { sim, ask } = await start(t)
  await sim.faults.set('master', { status: 500, times: 2 })
  const statuses = [await ask('GET /version'), await ask('GET /version'), await ask('GET /version')]
  t.same(
    statuses.map(({ status }) => status),
    [500, 500, 200],
  )
  await sim.faults.set('master', { status: 503, only: ({ method }) => method === 'PUT' })
  t.equal((await ask('PUT /agents/groups/new')).status, 503)
  t.notOk(sim.world.groups.has('new'), 'a request with a fault is not carried out')
  t.equal((await ask('GET /version')).status, 200)
  await t.rejects(sim.faults.set('nobody', {}), RangeError)
})

t.test('the API of the master is stopped: every worker forwards to the master', async (t) => {
  const { sim, ask } = await start(t)
  await sim.faults.set('master', { apiDown: true })
  await t.rejects(ask('GET /agents'))
  t.match((await ask('GET /agents?limit=1', { node: 'worker-1' })).json, { error: 0 })
  t.match((await ask('GET /cluster/nodes', { node: 'worker-2' })).json, { data: { totalItems: 3 } })
  t.match((await ask('PUT /agents/late', { node: 'worker-2' })).json, { error: 0, data: { id: '041' } })
  t.ok(sim.world.agents.has('041'))
})

t.test('a worker is down: requests to it and fan-outs fail', async (t) => {
  const { sim, ask } = await start(t)
  const unknown = { error: 3022, message: 'Unknown node ID' }
  await sim.faults.set('worker-2', { nodeDown: true })
  await t.rejects(ask('GET /version', { node: 'worker-2' }))
  t.match((await ask('GET /cluster/nodes')).json, { data: { totalItems: 2 } })
  t.match((await ask('GET /cluster/nodes/worker-2')).json, { error: 1730 })
  t.match((await ask('GET /cluster/healthcheck')).json, { data: { n_connected_nodes: 1 } })
  for (const request of ['PUT /agents/003/restart', 'PUT /cluster/worker-2/restart', 'PUT /agents/restart']) {
    t.same((await ask(request)).json, unknown, request)
  }
  t.same((await ask('GET /agents/003?select=status')).json?.data, { status: 'Active' })
  t.match((await ask('PUT /agents/002/restart')).json, { error: 0 })
  await sim.faults.clear()
  t.match((await ask('GET /cluster/nodes')).json, { data: { totalItems: 3 } })
})

t.test('a worker without its cluster daemon, and workers without a master', async (t) => {
  const { sim, ask } = await start(t)
  const notRunning = { error: 3012, message: 'Cluster is not running' }
  await sim.faults.set('worker-1', { clusterDown: true })
  t.same((await ask('GET /agents', { node: 'worker-1' })).json, notRunning)
  t.same((await ask('GET /cluster/nodes', { node: 'worker-1' })).json, notRunning)
  t.match((await ask('GET /cluster/node', { node: 'worker-1' })).json, { data: { node: 'worker-1' } })
  await sim.faults.clear()
  await sim.faults.set('master', { nodeDown: true })
  await t.rejects(ask('GET /agents'))
  t.same((await ask('GET /agents', { node: 'worker-1' })).json, notRunning)
  t.same(
    (await ask('POST /agents/restart', { node: 'worker-1', type: 'application/json', body: '{"ids":["002"]}' })).json,
    notRunning,
  )
})

t.test('a node that restarts is not ready for a while', async (t) => {
  let clock = Date.UTC(2026, 0, 1)
  const { sim, ask } = await start(t, { restartTakes: 5000, now: () => new Date(clock) })
  t.same((await ask('PUT /cluster/worker-1/restart')).json, { error: 0, data: 'Restart request sent' })
  t.same(
    sim.world.nodes.map(({ restarts }) => restarts),
    [0, 1, 0],
  )
  t.equal((await ask('PUT /agents/002/restart')).json?.error, 1017)
  t.equal((await ask('PUT /agents/001/restart')).json?.error, 0)
  clock += 6000
  t.equal((await ask('PUT /agents/002/restart')).json?.error, 0)
  await ask('PUT /cluster/restart')
  t.same(
    sim.world.nodes.map(({ restarts }) => restarts),
    [1, 2, 1],
  )
  t.same(sim.thrown, [])
})
