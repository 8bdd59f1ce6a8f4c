/** Valid settings of nodes, allowed addresses, and changes of the nodes during calls. */
import t from 'tap'
import { createCluster, type NodeSetting } from '../../../src/upstream/index.ts'
import { clusterOf, fakeNode, get, limits, put } from './fake-node.ts'

t.test('invalid settings are rejected with a remedy', (t) => {
  const url = 'http://127.0.0.1:1'
  const bad: [NodeSetting[], RegExp, string[]?][] = [
    [[], /0 nodes have the type master; exactly one/],
    [[{ name: 'a', type: 'worker', url }], /0 nodes have the type master/],
    [['a', 'b'].map((name) => ({ name, type: 'master', url })), /2 nodes have the type master/],
    [['a', 'a'].map((name, i) => ({ name, type: i ? 'worker' : 'master', url })), /two nodes have the same name/],
    [[{ name: 'a b', type: 'master', url }], /not a valid node name/],
    ...['ftp://x', 'x:1', '', `${url}/path`, `${url}?a=b`, 'http://user:pass@127.0.0.1:1'].map(
      (wrong): [NodeSetting[], RegExp] => [
        [{ name: 'a', type: 'master', url: wrong }],
        /must be http\(s\):\/\/host:port/,
      ],
    ),
    [[{ name: 'a', type: 'master', url }], /outside cluster.addresses/, ['10.0.0.0/8']],
    [[{ name: 'a', type: 'master', url: 'http://[::1]:1' }], /outside cluster.addresses/, ['10.0.0.0/8']],
    [[{ name: 'a', type: 'master', url: 'http://0x7f.1:1' }], /outside cluster.addresses/, ['10.0.0.0/8']],
    [[{ name: 'a', type: 'master', url }], /not a CIDR range/, ['::ffff:127.0.0.0/8']],
    [[{ name: 'a', type: 'master', url }], /not a CIDR range/, ['127.0.0.0/']],
    [[{ name: 'a', type: 'master', url }], /outside cluster.addresses/, ['127.0.0.2']],
  ]
  for (const [nodes, message, allowedAddresses = []] of bad) {
    const credentials = { mode: 'passthrough' } as const
    const options = { nodes, allowedAddresses, limits: () => limits, discover: false, credentials }
    t.throws(() => createCluster(options), { message })
  }
  t.end()
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
  t.throws(() => cluster.prepare({ nodes: [] }), /0 nodes have the type master/)
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
