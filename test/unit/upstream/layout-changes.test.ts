/** `cluster.layout: auto` while nodes are down, upgraded or of different layouts. */
import t from 'tap'
import { refuseWritesInMixture } from '../../../src/upstream/kinds.ts'
import { eventually } from '../../support/eventually.ts'
import { together } from '../../support/together.ts'
import { startAuto } from './changing-node.ts'
import { edgeRequest } from './edge-request.ts'
import { clusterOf, fakeNode } from './fake-node.ts'
import { handlerOf, restart } from './forwarding.ts'

const test = together(t, 4)

const readAgents = () => edgeRequest('GET', '/agents')
const ofAgent = {
  kind: 'envelope',
  status: 200,
  body: Buffer.from('{"error":0,"data":{"items":[{"id":"001","status":"Active"}],"totalItems":1}}'),
}
const LONG = 3_600_000

test('a node that is down at the start is asked again until it answers', async (t) => {
  const { master, worker, cluster, handler } = await startAuto(t, ['v4', 'v4'])
  await Promise.all([master, worker].map((node) => node.set({ kind: 'refuse' })))
  await cluster.start()
  await t.rejects(async () => handler(readAgents()), {
    code: 920,
    message: /\(boss: the layout of its API is not known yet: connection refused\)/,
    headers: { 'retry-after': '1' },
  })
  t.strictSame(master.calls(), [], 'nothing was sent')
  await Promise.all([master, worker].map((node) => node.set({ kind: 'pass' })))
  await eventually(() => cluster.view.layoutOf('boss') === 'v4')
  t.match(await handler(readAgents()), ofAgent)
})

for (const upgraded of [true, false]) {
  const [before, after] = upgraded ? (['v3', 'v4'] as const) : (['v4', 'v3'] as const)
  test(`a read is answered although the node has just changed from ${before} to ${after}`, async (t) => {
    const { master, worker, cluster, handler, changes } = await startAuto(t, [before, before], { layoutInterval: LONG })
    await cluster.start()
    t.match(await handler(readAgents()), ofAgent)
    for (const node of [master, worker]) {
      if (upgraded) node.upgrade()
      else node.replaceByV3()
    }
    // The node is asked for its layout at most once in a second.
    await eventually(async () => {
      try {
        await handler(readAgents())
        return true
      } catch {
        return false
      }
    })
    t.match(await handler(readAgents()), ofAgent)
    t.strictSame(
      changes.filter((change) => change.node === 'boss'),
      [
        { node: 'boss', layout: before, isMaster: true },
        { node: 'boss', before, layout: after, isMaster: true },
      ],
    )
  })
}

test('a change is noticed without a request too', async (t) => {
  const { master, cluster, lines } = await startAuto(t, ['v3', 'v3'])
  await cluster.start()
  master.upgrade()
  await eventually(() => cluster.view.layoutOf('boss') === 'v4')
  t.ok(lines.includes('layout of node changed'))
})

test('when one node has changed, the others are asked at once', async (t) => {
  const { master, worker, cluster, handler } = await startAuto(t, ['v3', 'v3'], { layoutInterval: LONG })
  await cluster.start()
  master.upgrade()
  worker.upgrade()
  await eventually(async () => {
    await Promise.resolve(handler(readAgents())).catch(() => undefined)
    return cluster.view.layoutOf('w1') === 'v4'
  })
  t.strictSame(worker.calls(), [], 'no request was sent to it')
  t.equal(cluster.view.layoutMixture(), undefined)
})

test('a write whose response cannot be read is not sent again in the other layout', async (t) => {
  const { master, cluster, handler } = await startAuto(t, ['v3', 'v3'], { layoutInterval: LONG })
  await cluster.start()
  master.upgradeUponWrite()
  // The node was asked for its layout within the last second otherwise, and is not asked again.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  await t.rejects(async () => handler(restart()), { code: 928 })
  t.strictSame(master.calls(), ['PUT /agents/001/restart'])
})

test('while nodes have different layouts, writes are refused and the nodes of the master answer reads', async (t) => {
  const { master, worker, cluster, handler, lines } = await startAuto(t, ['v4', 'v3'])
  const write = refuseWritesInMixture(cluster.view)(handler)
  await cluster.start()
  await t.rejects(async () => write(restart()), {
    code: 939,
    status: 503,
    message: 'Nodes have different layouts; write rejected (v3: w1; v4: boss)',
  })
  t.ok(lines.includes('nodes have different layouts: writes are refused'))
  t.match(await handler(readAgents()), ofAgent)
  await master.set({ kind: 'refuse' })
  await t.rejects(async () => handler(readAgents()), { message: /boss/ })
  t.strictSame(worker.calls(), [], 'the worker of the other layout is not asked')

  await master.set({ kind: 'pass' })
  worker.upgrade()
  await eventually(() => cluster.view.layoutMixture() === undefined && cluster.view.layoutOf('w1') === 'v4')
  t.ok(lines.includes('nodes have one layout again'))
  await eventually(() => cluster.view.isAvailable('boss'))
  const outcome = await Promise.resolve(write(restart())).catch((error: unknown) => error)
  t.notMatch(outcome, { code: 939 })
})

test('a named node of another layout than the master is not asked', async (t) => {
  const { worker, cluster, handler } = await startAuto(t, ['v3', 'v4'])
  await cluster.start()
  const counters = edgeRequest('GET', '/cluster/:node_id/stats/remoted', { params: { node_id: 'w1' } })
  await t.rejects(async () => handler(counters), { code: 920, message: /w1: its API has another layout/ })
  t.strictSame(worker.calls(), [])
})

test('a node that is down does not count for a mixture', async (t) => {
  const { master, worker, cluster } = await startAuto(t, ['v3', 'v3'])
  await cluster.start()
  await worker.set({ kind: 'refuse' })
  await eventually(() => cluster.view.layoutOf('w1') === 'v3')
  master.upgrade()
  await eventually(() => cluster.view.layoutOf('boss') === 'v4')
  await eventually(() => cluster.view.layoutMixture() === undefined)
  t.equal(cluster.view.layoutMixture(), undefined)
})

test('a drained node does not count for a mixture, from its drain until it is put back', async (t) => {
  const { cluster } = await startAuto(t, ['v4', 'v3'], { layoutInterval: LONG })
  await cluster.start()
  t.ok(cluster.view.layoutMixture())
  await cluster.drains.drain({ node: 'w1', by: 'operator', confirmsMaster: false })
  t.equal(cluster.view.layoutMixture(), undefined)
  await cluster.drains.putBack('w1')
  await eventually(() => cluster.view.layoutMixture() !== undefined)
})

test('a node that may not be asked now, because its calls per minute are used up, still counts for a mixture', async (t) => {
  const { cluster } = await startAuto(t, ['v4', 'v3'], { limits: { perMinute: 1 }, layoutInterval: 1 })
  await cluster.start()
  t.ok(cluster.view.layoutMixture())
  // The nodes are due each second.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  t.strictSame(cluster.view.layoutMixture(), { v3: ['w1'], v4: ['boss'] })
})

test('refused credentials lead to no question for the layout: the refusal shows it', async (t) => {
  const { url, seen } = await fakeNode(t, (_, response) => {
    const headers = { 'content-type': 'text/plain', 'www-authenticate': 'Basic realm="OSSEC API"' }
    response.writeHead(401, headers).end('401 Unauthorized')
  })
  const cluster = clusterOf(t, url, { layout: 'auto', layoutInterval: LONG })
  await cluster.start()
  const handler = handlerOf(cluster)
  // Within a second of the last question there is no other one in any case.
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  for (let sent = 0; sent < 3; sent++) await t.rejects(async () => handler(readAgents()), { code: 927 })
  t.equal(seen.filter((request) => request.url === '/').length, 1)
})
