/** How often a node that fails is probed, whatever the edge wants to know: by one schedule for each reason. */
import type { RequestListener } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startFaultProxy } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { type ClusterTestOptions, clusterOf, envelope, fakeNode, get } from './fake-node.ts'
import { rows, sendJson, withLogin } from './v4-node.ts'

/** The clock of the edge runs this many times as fast as the real one. */
const SPEED = 20
const OBSERVED_MS = 30_000
const contactTimes = { interval: 20, slowInterval: 5_000, timeout: 5_000, idleInterval: 15_000 }

/** A master that works, and a worker that answers as `respond`. Both layouts are recognised. */
async function start(t: Test, respond: RequestListener, options: ClusterTestOptions = {}) {
  const seen: string[] = []
  const master = await fakeNode(t)
  const worker = await fakeNode(t, (request, response) => {
    seen.push(request.url ?? '')
    respond(request, response)
  })
  const proxy = await startFaultProxy(worker.port)
  t.teardown(() => proxy.close())
  const cluster = clusterOf(t, '', {
    nodes: [
      { name: 'master', type: 'master', url: master.url },
      { name: 'worker', type: 'worker', url: `http://127.0.0.1:${proxy.port}` },
    ],
    layout: 'auto',
    layoutInterval: 1_000,
    contactTimes,
    clock: () => performance.now() * SPEED,
    ...options,
  })
  /** Returns how often the worker is probed with `GET /` and how often it is called otherwise. */
  const observe = async () => {
    const before = seen.length
    await sleep(OBSERVED_MS / SPEED)
    const calls = seen.slice(before)
    const alive = calls.filter((url) => url === '/').length
    return { alive, others: calls.length - alive }
  }
  return { cluster, proxy, observe }
}

t.test('a node that closes connections is called each five seconds, and not asked for its layout', async (t) => {
  let isUp = true
  const { cluster, observe } = await start(t, (request, response) => {
    if (isUp) envelope(request, response)
    else request.socket.destroy()
  })
  await cluster.start()
  isUp = false
  await eventually(() => cluster.contacts.states().get('worker') === 'failing')
  const { alive, others } = await observe()
  t.equal(alive, 0)
  t.ok(others > 0, `${others}`)
  isUp = true
  await eventually(() => cluster.contacts.states().get('worker') === 'answered')
})

t.test('a node that blocks the address is only tried as often as the block allows', async (t) => {
  let isBlocked = false
  const minPause = 10_000
  const block = { interval: 10, minPause, maxPause: minPause }
  const works = withLogin((request, response) => {
    if (request.headers.authorization?.startsWith('Bearer ')) rows([])(request, response)
    else sendJson(response, 401, { title: 'Unauthorized' })
  })
  const respond: RequestListener = (request, response) => {
    if (isBlocked) sendJson(response, 403, { title: 'Permission Denied', detail: 'blocked', error: 6000 })
    else works(request, response)
  }
  const { cluster, observe } = await start(t, respond, { ejection: { block } })
  await cluster.start()
  isBlocked = true
  await cluster.call(get('/agents', { node: 'worker' }))
  t.notOk(cluster.view.isAvailable('worker'))
  const { alive, others } = await observe()
  t.ok(alive >= 1 && alive <= OBSERVED_MS / minPause + 1, `${alive} attempts`)
  t.equal(others, 0)
})

t.test('the answer to a probe of a silent node shows its layout', async (t) => {
  let isV4 = false
  const silence = { minWait: 50, maxWait: 100, probeTimeout: 50, probes: 2, pause: 10 }
  const respond: RequestListener = (request, response) => {
    if (isV4) sendJson(response, 401, { title: 'Unauthorized', detail: 'no token' })
    else envelope(request, response)
  }
  const { cluster, proxy } = await start(t, respond, { ejection: { silence }, layoutInterval: 3_600_000 })
  await cluster.start()
  await proxy.set({ kind: 'stall' })
  await Promise.all([1, 2].map((at) => cluster.call(get(`/${at}`, { node: 'worker' }))))
  t.ok(cluster.view.isSilent('worker'))
  isV4 = true
  await proxy.set({ kind: 'pass' })
  await eventually(() => cluster.view.isSilent('worker') === false)
  t.equal(cluster.view.layoutOf('worker'), 'v4')
})
