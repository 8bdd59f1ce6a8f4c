/** The nodes of the cluster: those of the settings and those that the master lists. */
import type { RequestListener } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import type { NodeSetting } from '../../../src/upstream/index.ts'
import { eventually } from '../../support/eventually.ts'
import { type ClusterTestOptions, clusterOf, envelope, fakeNode, get } from './fake-node.ts'

interface Listed {
  name: unknown
  type: unknown
  version?: unknown
  ip?: unknown
}

const three: Listed[] = [
  { name: 'master', type: 'master', version: '3.11.4', ip: '10.0.0.1' },
  { name: 'worker-1', type: 'worker', version: 'v3.11.4', ip: '169.254.169.254' },
  { name: 'worker-2', type: 'worker', version: 'odd"one', ip: '10.0.0.3' },
]

/** Starts a master whose list can be changed. */
async function discovering(t: Test, options: ClusterTestOptions = {}) {
  let items: Listed[] | string | undefined = three
  const respond: RequestListener = (request, response) => {
    if (!request.url?.startsWith('/cluster/nodes')) return envelope(request, response)
    if (items === undefined) return
    const body = typeof items === 'string' ? items : JSON.stringify({ error: 0, data: { totalItems: 3, items } })
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  }
  const node = await fakeNode(t, respond)
  const worker = await fakeNode(t)
  let now = 0
  const log: unknown[] = []
  const cluster = clusterOf(t, node.url, {
    nodes: [
      { name: 'worker-1', type: 'worker', url: worker.url },
      { name: 'master', type: 'master', url: node.url },
    ],
    discover: true,
    clock: () => now,
    log: (level, message, fields) => log.push({ level, message, ...fields }),
    ...options,
  })
  /** `undefined`: the master does not answer. */
  const setList = (next: Listed[] | string | undefined) => {
    items = next
  }
  const wait = (ms: number) => {
    now += ms
  }
  const listCalls = () => node.seen.filter(({ url }) => url?.startsWith('/cluster/nodes')).length
  return { cluster, node, log, setList, wait, listCalls }
}

t.test('without a list: the master first, then by name', (t) => {
  const nodes: NodeSetting[] = ['b', 'a'].map((name) => ({ name, type: 'worker', url: 'http://127.0.0.1:1' }))
  const { view, status } = clusterOf(t, '', {
    nodes: [...nodes, { name: 'm', type: 'master', url: 'http://127.0.0.1:1' }],
  })
  t.same(view.nodes(), [
    { name: 'm', type: 'master', addressed: true },
    { name: 'a', type: 'worker', addressed: true },
    { name: 'b', type: 'worker', addressed: true },
  ])
  t.equal(view.master().name, 'm')
  t.equal(view.find('a'), view.nodes()[1])
  t.match(status()[0], { name: 'm', inFlight: 0, limit: 4, queue: 0 })
  t.end()
})

t.test('the list of the master adds names and versions, but no addresses', async (t) => {
  const { cluster } = await discovering(t)
  await cluster.start()
  t.same(cluster.view.nodes(), [
    { name: 'master', type: 'master', addressed: true, version: '3.11.4' },
    { name: 'worker-1', type: 'worker', addressed: true, version: '3.11.4' },
    { name: 'worker-2', type: 'worker', addressed: false },
  ])
  t.notOk(cluster.view.isAvailable('worker-2'))
  t.match(await cluster.call(get('/manager/info', { node: 'worker-2' })), { ok: false, sent: false })
})

t.test('names like __proto__ are unknown, in the view and in a list', async (t) => {
  const { cluster, setList } = await discovering(t)
  const odd = ['__proto__', 'constructor', '../x', 'a/b', '', 7, null, 'x'.repeat(300)]
  setList([...three, ...odd.map((name) => ({ name, type: 'worker' })), { name: 'w', type: 'god' }, 'w' as never])
  await cluster.start()
  t.same(
    cluster.view.nodes().map(({ name }) => name),
    ['master', '__proto__', 'constructor', 'worker-1', 'worker-2'],
    'valid names only',
  )
  setList(three)
  const { view } = clusterOf(t, 'http://127.0.0.1:1')
  for (const name of ['__proto__', 'constructor', 'toString', '169.254.169.254']) t.notOk(view.find(name))
})

t.test('a node that is no longer listed stays if the settings have its address', async (t) => {
  const { cluster, setList, wait, listCalls } = await discovering(t)
  await cluster.start()
  setList(three.slice(0, 1))
  wait(5_000)
  t.notOk(cluster.view.find('worker-9'))
  await eventually(() => cluster.status()[1]?.listed === false)
  t.equal(listCalls(), 2)
  t.same(
    cluster.view.nodes().map(({ name }) => name),
    ['master', 'worker-1'],
  )
  t.match(cluster.view.find('worker-1'), { addressed: true })
  t.equal(cluster.status()[0]?.listed, true)
})

t.test('an unknown name refreshes the list in the background, at most once in 5 s', async (t) => {
  const { cluster, wait, listCalls } = await discovering(t)
  await cluster.start()
  for (let i = 0; i < 50; i += 1) t.notOk(cluster.view.find(`worker-${i + 10}`))
  await new Promise((done) => setTimeout(done, 30))
  t.equal(listCalls(), 1)
  wait(5_000)
  cluster.view.find('no name/at all')
  for (let i = 0; i < 50; i += 1) cluster.view.find('worker-9')
  await eventually(() => listCalls() === 2)
  await new Promise((done) => setTimeout(done, 30))
  t.equal(listCalls(), 2)
})

t.test('the list is refreshed periodically until close', async (t) => {
  const { cluster, listCalls } = await discovering(t, { discoverInterval: 20 })
  await cluster.start()
  await eventually(() => listCalls() >= 3)
  await cluster.close()
  const after = listCalls()
  await new Promise((done) => setTimeout(done, 60))
  t.ok(listCalls() <= after + 1)
})

t.test('a reload that switches discovery off and on during a call reads the list at once', async (t) => {
  const { cluster, setList, log, listCalls } = await discovering(t)
  setList(undefined)
  const started = cluster.start()
  await eventually(() => listCalls() === 1)
  setList(three)
  cluster.prepare({ discover: false })()
  cluster.prepare({ discover: true })()
  await eventually(() => cluster.view.find('worker-2') !== undefined)
  await started
  t.equal(listCalls(), 2)
  cluster.prepare({ discover: false })()
  t.equal(cluster.view.find('worker-2'), undefined)
  t.notMatch(JSON.stringify(log), /not discovered/, 'the call that the reload has ended is no failure')
})

t.test('an invalid list changes nothing and is logged once', async (t) => {
  const { cluster, setList, log, listCalls } = await discovering(t, { discoverInterval: 10 })
  await cluster.start()
  const before = cluster.view.nodes()
  for (const bad of [
    '{}',
    '[]',
    'null',
    '{"error":3013,"message":"x"}',
    '{"error":0,"data":{"items":7}}',
    '{"error":0',
  ]) {
    setList(bad)
    const seen = listCalls()
    await eventually(() => listCalls() >= seen + 2)
  }
  t.same(cluster.view.nodes(), before)
  t.equal(log.filter((entry) => JSON.stringify(entry).includes('not discovered')).length, 1)
})

t.test('the start succeeds without a list; passthrough does not discover', async (t) => {
  await clusterOf(t, 'http://127.0.0.1:1', { discover: true }).start()
  const { cluster, listCalls, log } = await discovering(t, { credentials: { mode: 'passthrough' } })
  await cluster.start()
  t.equal(listCalls(), 0)
  t.match(log, [{ level: 'warn', message: /not discovered/ }])
})
