/** Valid settings of nodes, allowed addresses, and changes of the nodes during calls. */
import t from 'tap'
import { createCluster, type NodeSetting } from '../../../src/upstream/index.ts'
import { clusterOf, fakeNode, get, limits, put } from './fake-node.ts'

t.test('a node outside the allowed addresses is rejected with a remedy', async (t) => {
  const bad: [string, string][] = [
    ['http://127.0.0.1:1', '10.0.0.0/8'],
    ['http://[::1]:1', '10.0.0.0/8'],
    ['http://0x7f.1:1', '10.0.0.0/8'],
    ['http://127.0.0.1:1', '127.0.0.2'],
  ]
  for (const [url, range] of bad) {
    const nodes: NodeSetting[] = [{ name: 'a', type: 'master', url }]
    const credentials = { mode: 'passthrough' } as const
    const options = { nodes, allowedAddresses: [range], limits: () => limits, discover: false, credentials }
    t.throws(() => createCluster(options), { message: /outside cluster.addresses/ })
  }
})

t.test('a host name that resolves outside the allowed addresses is not connected to', async (t) => {
  const node = await fakeNode(t)
  const url = `http://localhost:${node.port}`
  const outside = clusterOf(t, url, { allowedAddresses: ['10.0.0.0/8'] })
  t.match(await outside.call(get()), { fault: 'unreachable', sent: false, reason: 'addressNotAllowed' })
  t.equal(node.connections(), 0)
  t.match(await clusterOf(t, url, { allowedAddresses: ['127.0.0.1', '::1'] }).call(get()), { ok: true })
})

t.test('a hundred changes of the nodes under load fail no call', async (t) => {
  const nodes = await Promise.all([1, 2, 3, 4].map(() => fakeNode(t)))
  const settings = (from: number): NodeSetting[] => [
    { name: 'master', type: 'master', url: nodes[0]?.url ?? '' },
    { name: 'worker', type: 'worker', url: nodes[1 + (from % 3)]?.url ?? '' },
  ]
  const cluster = clusterOf(t, '', { nodes: settings(0) })
  const calls: ReturnType<typeof cluster.call>[] = []
  for (let i = 1; i <= 100; i += 1) {
    for (const node of ['master', 'worker'])
      calls.push(cluster.call((i % 5 ? get : put)('/', { node, timeout: 60_000 })))
    cluster.prepare({ nodes: settings(i) })()
    if (i % 10 === 0) await new Promise((done) => setTimeout(done, 5))
  }
  for (const result of await Promise.all(calls)) if (!result.ok) t.fail(result.reason)
  cluster.prepare({ nodes: settings(0).slice(0, 1) })()
  t.notOk(cluster.view.find('worker'))
  const before = nodes.map(({ seen }) => seen.length)
  t.match(await cluster.call(get('/', { node: 'worker' })), { ok: false, sent: false })
  t.same(
    nodes.map(({ seen }) => seen.length),
    before,
  )
  t.equal(before[0], 100)
})
