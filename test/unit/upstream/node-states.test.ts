/** States of a node of the v4 layout that its responses show: its address block, and its process that hangs. */
import t, { type Test } from 'tap'
import { startSimulator, type V4Options } from '../../../packages/simulator/src/index.ts'
import { eventually } from '../../support/eventually.ts'
import { type ClusterTestOptions, clusterOf, get } from './fake-node.ts'

async function start(t: Test, v4: V4Options, options: ClusterTestOptions = {}) {
  const simulator = await startSimulator({ layout: 'v4', agents: 3, workers: 1, password: 'pass', v4 })
  t.teardown(() => simulator.close())
  const [master] = simulator.nodes
  if (master === undefined) throw new Error('no master')
  const logged: Record<string, unknown>[] = []
  const cluster = clusterOf(t, '', {
    layout: 'v4',
    nodes: [master],
    log: (level, message, fields) => logged.push({ level, message, ...fields }),
    ...options,
  })
  const call = (path: string) => cluster.call(get(path, { node: master.name, endpoint: `GET ${path.split('?')[0]}` }))
  const seen = (path: string) => simulator.seen.filter(({ url }) => url.split('?')[0] === path).length
  return { simulator, master: master.name, cluster, logged, call, seen, state: () => cluster.status()[0] }
}

t.test('a node that blocks the address of the edge is tried again by the edge alone, until it answers', async (t) => {
  const block = { interval: 10, minPause: 100, maxPause: 400 }
  const { simulator, master, logged, call, seen, state } = await start(t, {}, { ejection: { block } })
  t.ok((await call('/agents')).ok)
  simulator.v4.blockAddress(master)
  t.match(await call('/agents'), {
    ok: false,
    fault: 'blocked',
    sent: false,
    retryAfter: Number,
    reason: 'addressBlocked',
  })
  const sent = () => simulator.seen.length - seen('/')
  const before = sent()
  await eventually(async () => {
    t.match(await call('/agents'), { ok: false, fault: 'ejected', sent: false, lastFault: 'blocked' })
    return seen('/') >= 2
  })
  t.equal(sent(), before, 'no call of a client is sent, and no login')
  t.match(state(), {
    ejectedFor: Number,
    lastFailure: { fault: 'blocked', detail: /refuses the address of the edge/ },
  })
  t.equal(logged.filter(({ fault }) => fault === 'blocked').length, 1)
  simulator.v4.restartApi(master)
  await eventually(() => logged.at(-1)?.message === 'node answers again')
  t.ok((await call('/agents')).ok)
})

/** Makes the only process of the node hang, and the node answer with 3021 soon. */
async function startHanging(t: Test, options: ClusterTestOptions = {}) {
  const started = await start(t, { executionLimit: 30 }, options)
  const { call, state } = started
  t.match(await call(`/agents?search=${'x'.repeat(3_000)}`), { ok: true, response: { status: 500 } })
  t.equal(state()?.ejectedFor, undefined, 'one such answer decides nothing')
  t.match(await call('/cluster/nodes'), { ok: true, response: { status: 200 } })
  await call('/agents')
  t.match(await call('/cluster/nodes'), { ok: true, response: { status: 200 } })
  await call('/agents')
  await eventually(() => state()?.ejectedFor !== undefined)
  return started
}

t.test('a node that hangs is ejected, although it answers other calls, and probed until it works', async (t) => {
  const { simulator, master, call, seen, logged } = await startHanging(t, {
    ejection: { baseTime: 50, maxTime: 100 },
  })
  t.match(logged.at(-1), { message: 'node ejected', detail: /3021/ })
  await eventually(() => seen('/manager/status') >= 2)
  const before = seen('/cluster/nodes') + seen('/agents')
  t.match(await call('/cluster/nodes'), { ok: false, fault: 'ejected', lastFault: 'timeout' })
  t.match(await call('/agents'), { ok: false, fault: 'ejected' })
  t.equal(seen('/cluster/nodes') + seen('/agents'), before, 'no call of a client is a probe')
  simulator.v4.restartApi(master)
  await eventually(async () => (await call('/agents')).ok)
  t.ok(logged.some(({ message }) => message === 'node answers again'))
})

t.test('a node that hangs is not available to clients, also when its probe is due', async (t) => {
  let offset = 0
  const { cluster, master } = await startHanging(t, { clock: () => performance.now() + offset })
  offset = 60_000
  t.notOk(cluster.view.isAvailable(master))
})

t.test('a node that hangs for longer than its tokens are valid is probed with a new one', async (t) => {
  let offset = 0
  const { simulator, master, call, seen } = await startHanging(t, {
    ejection: { baseTime: 50, maxTime: 100 },
    clock: () => performance.now() + offset,
  })
  await eventually(() => seen('/manager/status') >= 1)
  offset = 24 * 3_600_000
  simulator.v4.restartApi(master)
  await eventually(async () => (await call('/agents')).ok)
})

t.test('without an account of the edge, a call that the process carries out is the probe', async (t) => {
  const credentials = { username: 'edge', password: 'pass' }
  let now = 0
  const { simulator, master, cluster } = await start(
    t,
    { executionLimit: 30 },
    { credentials: { mode: 'passthrough' }, clock: () => now },
  )
  const call = (path: string) => cluster.call(get(path, { node: master, credentials, endpoint: `GET ${path}` }))
  await cluster.call(get(`/agents?search=${'x'.repeat(3_000)}`, { node: master, credentials }))
  await call('/agents')
  await call('/agents')
  now += 40_000
  t.match(await call('/cluster/nodes'), { ok: false, fault: 'ejected' })
  simulator.v4.restartApi(master)
  t.match(await call('/agents'), { ok: true, response: { status: 200 } })
  t.match(await call('/cluster/nodes'), { ok: true, response: { status: 200 } })
})

t.test('a node that restarts is not ejected: its answer passes', async (t) => {
  const { simulator, master, call, state } = await start(t, {})
  await call('/agents')
  await simulator.faults.set(master, { error: 1017 })
  for (let each = 0; each < 6; each += 1) t.match(await call('/agents'), { ok: true, response: { status: 400 } })
  t.equal(state()?.ejectedFor, undefined)
})
