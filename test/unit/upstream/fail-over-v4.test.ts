/** v4 layout: when a worker is asked instead of the master. */
import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { startFaultProxy } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { edgeRequest } from './edge-request.ts'
import { type ClusterTestOptions, clusterOf, fakeNode } from './fake-node.ts'
import { createPatientLimits, handlerOf, holdUntilReleased } from './forwarding.ts'
import { rows, withLogin, withoutMaster } from './v4-node.ts'

const agents = rows([{ id: '001', status: 'active' }])
const readAgents = () => edgeRequest('GET', '/agents')

async function start(t: Test, ofMaster: RequestListener, ofWorker: RequestListener, options: ClusterTestOptions = {}) {
  const [master, worker] = await Promise.all([fakeNode(t, withLogin(ofMaster)), fakeNode(t, withLogin(ofWorker))])
  const proxy = await startFaultProxy(master.port)
  t.teardown(() => proxy.close())
  const cluster = clusterOf(t, '', {
    layout: 'v4',
    nodes: [
      { name: 'boss', type: 'master', url: `http://127.0.0.1:${proxy.port}` },
      { name: 'w1', type: 'worker', url: worker.url },
    ],
    ...options,
  })
  const { limits, fitTo } = createPatientLimits()
  const handler = handlerOf(cluster, limits)
  const askedOf = (node: typeof master) =>
    node.seen.map(({ method, url }) => `${method} ${url}`).filter((call) => !call.includes('authenticate'))
  return { handler, cluster, proxy, fitTo, askedOfMaster: () => askedOf(master), askedOfWorker: () => askedOf(worker) }
}

t.test('a worker answers for a master whose API process is down, under the same path', async (t) => {
  const { handler, proxy, askedOfWorker } = await start(t, agents, agents)
  await proxy.set({ kind: 'refuse' })
  t.match(await handler(readAgents()), { status: 200, errorNumber: 0 })
  t.strictSame(askedOfWorker(), ['GET /agents'])
})

t.test('a worker answers for a master that was ejected because it hangs', async (t) => {
  const { handler, cluster, proxy, fitTo, askedOfWorker } = await start(t, agents, agents, {
    ejection: { failures: 1, baseTime: 60_000, maxTime: 60_000, maxOutageTime: 60_000 },
  })
  t.match(await handler(readAgents()), { status: 200 })
  await proxy.set({ kind: 'stall' })
  fitTo({ kind: 'stall' })
  await t.rejects(async () => handler(readAgents()), { code: 922, message: /boss/ })
  fitTo({ kind: 'pass' })
  await eventually(() => !cluster.view.isAvailable('boss'))
  t.match(await handler(readAgents()), { status: 200, errorNumber: 0 })
  t.strictSame(askedOfWorker(), ['GET /agents'])
})

t.test('a master at its limit is not replaced by a worker', async (t) => {
  const { respond, release } = holdUntilReleased(agents)
  const limits = { inFlight: 1, queue: 1 }
  const { handler, askedOfMaster, askedOfWorker } = await start(t, respond, agents, { limits })
  const held = handler(readAgents())
  await eventually(() => askedOfMaster().length === 1)
  const queued = handler(readAgents())
  await t.rejects(async () => handler(readAgents()), { code: 921, message: /boss/ })
  release()
  await Promise.all([held, queued])
  t.strictSame(askedOfWorker(), [])
})

t.test('a worker that has lost the master too leaves the error of the master', async (t) => {
  const { handler, proxy, askedOfWorker } = await start(t, agents, withoutMaster)
  await proxy.set({ kind: 'refuse' })
  await t.rejects(async () => handler(readAgents()), { code: 924, message: /boss/ })
  t.equal(askedOfWorker().length, 1)
})
