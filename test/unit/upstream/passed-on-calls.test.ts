/** Calls that the master of the v4 layout passes on to a worker, which is cut off: with a simulated cluster. */
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import { eventually } from '../../support/eventually.ts'
import { edgeRequest } from './edge-request.ts'
import { type ClusterTestOptions, clusterOf } from './fake-node.ts'
import { handlerOf } from './forwarding.ts'

/** The master gives up a call to the worker long after the edge. */
const CUT_OFF = { cutOff: 10_000 }

async function start(t: Test, options: ClusterTestOptions = {}) {
  const simulator = await startSimulator({ layout: 'v4', agents: 6, workers: 2, password: 'pass' })
  t.teardown(() => simulator.close())
  const [master, worker, other] = simulator.nodes
  if (master === undefined || worker === undefined || other === undefined) throw new Error('no workers')
  for (const id of ['001', '002']) simulator.moveAgent(id, worker.name)
  simulator.moveAgent('003', other.name)
  simulator.moveAgent('004', master.name)
  const logged: Record<string, unknown>[] = []
  let now = 0
  const cluster = clusterOf(t, '', {
    layout: 'v4',
    nodes: [...simulator.nodes],
    hangTimeout: 300,
    log: (level, message, fields) => logged.push({ level, message, ...fields }),
    clock: () => now,
    ...options,
  })
  const handler = handlerOf(cluster)
  const ask = async (method: string, path: string, params: Record<string, string> = {}, query = {}) =>
    handler(edgeRequest(method, path, { params, query } as Partial<EdgeRequest>))
  const seen = (url: RegExp) => simulator.seen.filter((request) => url.test(request.url)).length
  const stateOf = (name: string) => cluster.status().find((node) => node.name === name)
  return {
    simulator,
    master: master.name,
    worker: worker.name,
    other: other.name,
    cluster,
    logged,
    ask,
    seen,
    stateOf,
    later: (ms: number) => {
      now += ms
    },
  }
}

t.test('a call for a worker that is cut off fails soon, and the next ones at once', async (t) => {
  const { simulator, master, worker, other, logged, ask, seen, stateOf } = await start(t)
  const read = (node_id: string) => ask('GET', '/cluster/:node_id/status', { node_id })
  t.match(await read(worker), { errorNumber: 0 })
  await simulator.faults.set(worker, CUT_OFF)
  await t.rejects(read(worker), { code: 922, message: /timed out/ })
  const before = seen(/./)
  await t.rejects(read(worker), {
    code: 922,
    message: new RegExp(`${worker} does not answer calls that ${master} passes on`),
    headers: { 'retry-after': /^\d+$/ },
  })
  t.equal(seen(/./), before, 'nothing is sent')
  t.match(await read(other), { errorNumber: 0 })
  t.match(await ask('GET', '/agents'), { errorNumber: 0 })
  t.match(stateOf(worker), { cutOffFor: Number })
  t.equal(stateOf(master)?.ejectedFor, undefined)
  t.equal(logged.filter(({ message }) => /does not answer calls/.test(String(message))).length, 1)
})

t.test('one call probes the worker after a time, which doubles, until it answers', async (t) => {
  const { simulator, worker, logged, ask, seen, later, stateOf } = await start(t)
  const read = () => ask('GET', '/cluster/:node_id/status', { node_id: worker })
  await simulator.faults.set(worker, CUT_OFF)
  await t.rejects(read(), { code: 922 })
  later(15_001)
  const before = seen(/status/)
  const probes = await Promise.allSettled([read(), read(), read()])
  t.ok(probes.every(({ status }) => status === 'rejected'))
  t.equal(seen(/status/), before + 1)
  later(15_001)
  await t.rejects(read(), { code: 922 })
  t.equal(seen(/status/), before + 1, 'not yet')
  later(15_001)
  await simulator.faults.clear()
  t.match(await read(), { errorNumber: 0 })
  t.equal(stateOf(worker)?.cutOffFor, undefined)
  t.ok(logged.some(({ message }) => /again/.test(String(message))))
  t.match(await read(), { errorNumber: 0 })
})

t.test(
  'after a call for one agent hung, calls for all agents of its node fail at once, and for others not',
  async (t) => {
    const { simulator, worker, ask, seen, stateOf } = await start(t)
    const read = (agent_id: string) => ask('GET', '/syscheck/:agent_id', { agent_id })
    await simulator.faults.set(worker, CUT_OFF)
    await t.rejects(read('001'), { code: 922 })
    await eventually(() => stateOf(worker)?.cutOffFor !== undefined)
    await t.rejects(read('002'), { code: 922, message: new RegExp(`${worker} does not answer`) })
    t.equal(seen(/^\/syscheck\/002/), 0)
    t.match(await read('003'), { status: 200 })
    t.match(await read('004'), { status: 200 })
  },
)

t.test('a command that hangs has an unknown outcome and is sent once; further ones are not sent', async (t) => {
  const { simulator, worker, ask, seen } = await start(t)
  const restart = () => ask('PUT', '/agents/:agent_id/restart', { agent_id: '001' })
  await simulator.faults.set(worker, CUT_OFF)
  await t.rejects(restart(), { code: 923 })
  await t.rejects(restart(), { code: 922 })
  t.equal(seen(/restart/), 1)
})

t.test('calls for other nodes leave half of the slots of the master free', async (t) => {
  const { simulator, worker, master, cluster, ask, stateOf } = await start(t, { hangTimeout: 1_000 })
  await ask('GET', '/agents')
  await simulator.faults.set(worker, CUT_OFF)
  const hanging = Array.from({ length: 6 }, () =>
    ask('GET', '/cluster/:node_id/status', { node_id: worker }).catch((error: unknown) => error),
  )
  await eventually(() => stateOf(master)?.inFlight === 2)
  t.match(await ask('GET', '/agents'), { errorNumber: 0 })
  t.equal(stateOf(master)?.inFlight, 2)
  t.ok(cluster.view.isAvailable(master))
  for (const error of await Promise.all(hanging)) t.match(error, { code: 922 })
})

t.test('after a call for agents of several nodes hung, the node that is cut off is found', async (t) => {
  const { simulator, worker, other, ask, stateOf } = await start(t)
  await simulator.faults.set(worker, CUT_OFF)
  await t.rejects(ask('GET', '/experimental/syscollector/os'), { code: 922 })
  await eventually(() => stateOf(worker)?.cutOffFor !== undefined)
  t.equal(stateOf(other)?.cutOffFor, undefined)
  await t.rejects(ask('GET', '/experimental/syscollector/os'), { code: 922, message: new RegExp(worker) })
})

t.test('a call that waits for completion is not cut short', async (t) => {
  const { simulator, worker, cluster, master } = await start(t)
  await simulator.faults.set(worker, { cutOff: 1_500 })
  const handler = handlerOf(cluster)
  const request = edgeRequest('GET', '/cluster/:node_id/status', { params: { node_id: worker }, waitForComplete: true })
  t.match(await handler(request), { errorNumber: 3020 }, `${master} gave up`)
  await t.rejects(async () => handler(request), { code: 922 }, 'and the worker is suspected')
})
