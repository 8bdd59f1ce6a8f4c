import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import type { ClusterView, NodeInfo } from '../../../src/core/node-call.ts'
import { createTopology, type ListedNode } from '../../../src/upstream/topology.ts'
import { clusterViewOf } from '../../support/cluster-view.ts'
import { edgeRequest } from './edge-request.ts'
import { routerOf } from './router-of.ts'

const route = routerOf('manager')
const master: NodeInfo = { name: 'boss', type: 'master', addressed: true }
const nodes: NodeInfo[] = [
  master,
  { name: 'w1', type: 'worker', addressed: true },
  { name: 'w2', type: 'worker', addressed: true },
  { name: 'w3', type: 'worker', addressed: false },
]

function view(...unavailable: string[]): ClusterView {
  return viewOf(unavailable, () => 1)
}

/** A view in which the named nodes have no free slot. */
const busy = (...names: string[]) => viewOf([], (name) => (names.includes(name) ? 0 : 1))

function viewOf(unavailable: readonly string[], freeSlots: ClusterView['freeSlots']): ClusterView {
  return clusterViewOf(nodes, { isAvailable: (name) => !unavailable.includes(name), freeSlots })
}

/** A candidate that may pass the request on to the node which is late. */
const passing = { mayBePassedOn: true }

const names = (candidates: readonly { node: string }[]) => candidates.map(({ node }) => node)

t.test('the master first, then workers that pass the request on', (t) => {
  t.same(route(edgeRequest('GET', '/agents'), view()), [
    { node: 'boss', path: '/agents' },
    { node: 'w2', path: '/agents', ...passing },
    { node: 'w1', path: '/agents', ...passing },
  ])
  t.same(names(route(edgeRequest('GET', '/agents'), view('boss', 'w2'))), ['boss', 'w1'], 'available workers only')
  t.same(
    names(route(edgeRequest('GET', '/agents', { requestId: 'b' }), view())),
    ['boss', 'w1', 'w2'],
    'another request starts with another worker',
  )
  t.same(names(route(edgeRequest('GET', '/rules'), view())), ['boss', 'w2', 'w1'])
  t.end()
})

t.test('bulk reads wait for the busy master, whose work they would slow down', (t) => {
  const flow = { party: 'ann 127.0.0.1', name: 1 }
  const first = (isBulk: boolean) => {
    const client = { signal: new AbortController().signal, flow: { ...flow, isBulk } }
    return route(edgeRequest('GET', '/rules', { copies: 'current', client }), busy('boss'))[0]?.node
  }
  t.equal(first(true), 'boss')
  t.equal(first(false), 'w2')
  t.end()
})

t.test('a worker with a free slot relieves a busy master of reads that every node answers', (t) => {
  const copies = 'current'
  const rules = edgeRequest('GET', '/rules', { copies })
  for (const router of [route, routerOf('edge')]) {
    t.same(router(rules, busy('boss')), [
      { node: 'w2', path: '/rules', relievesMaster: true },
      { node: 'boss', path: '/rules' },
      { node: 'w1', path: '/rules' },
    ])
    t.same(names(router(rules, busy('boss', 'w2'))), ['w1', 'boss', 'w2'])
    t.same(names(router(rules, busy('boss', 'w1', 'w2'))), ['boss', 'w2', 'w1'])
    t.same(names(router(edgeRequest('GET', '/rules', { copies: 'lagging' }), busy('boss'))), ['boss'])
    t.equal(router(edgeRequest('GET', '/rules'), busy('boss'))[0]?.node, 'boss', 'the copies may be old')
  }
  for (const { method, path, target } of catalogue) {
    if (target.kind === 'edge' || target.kind === 'severalNodes' || target.kind === 'node') continue
    const [first] = route(edgeRequest(method, path, { copies }), busy('boss'))
    t.equal(first?.node === 'boss', target.kind !== 'anyNode', `${method} ${path}`)
    if (target.kind === 'anyNode') t.equal(method, 'GET', path)
  }
  t.end()
})

t.test('a worker that is not connected to the cluster does not answer for a busy master', (t) => {
  const settings = [
    { name: 'boss', type: 'master', url: 'http://127.0.0.1:1' },
    { name: 'w1', type: 'worker', url: 'http://127.0.0.1:2' },
  ] as const
  let topology = createTopology(settings)
  const take = (list: readonly ListedNode[]) => {
    topology = createTopology(settings, list)
  }
  const current: ClusterView = {
    ...busy('boss'),
    nodes: () => topology.nodes,
    find: (name) => topology.byName.get(name),
  }
  const first = () => route(edgeRequest('GET', '/rules', { copies: 'current' }), current)[0]?.node
  const boss = { name: 'boss', type: 'master' } as const
  t.equal(first(), 'w1', 'without a list')
  take([boss])
  t.equal(first(), 'boss', 'its copy may be old')
  take([boss, { name: 'w1', type: 'worker' }])
  t.equal(first(), 'w1')
  take([boss])
  t.same(names(route(edgeRequest('GET', '/rules'), current)), ['boss', 'w1'], 'it still follows a master that is down')
  t.end()
})

t.test('a request without a time limit waits for a busy master', (t) => {
  const request = edgeRequest('GET', '/rules', { copies: 'current', waitForComplete: true })
  t.same(names(route(request, busy('boss'))), ['boss', 'w2', 'w1'])
  t.end()
})

t.test('requests about the master reach it through a worker by its name, or not at all', (t) => {
  t.same(route(edgeRequest('GET', '/manager/info'), view('w2')), [
    { node: 'boss', path: '/manager/info' },
    { node: 'w1', path: '/cluster/boss/info', ...passing },
  ])
  t.same(route(edgeRequest('GET', '/cluster/config'), view()), [{ node: 'boss', path: '/cluster/config' }])
  t.end()
})

t.test('a named node: by its address, and as a detour through other nodes; unknown: 3022', (t) => {
  const to = (name: string) =>
    route(edgeRequest('GET', '/cluster/:node_id/info', { params: { node_id: name } }), view())
  const path = '/cluster/:node_id/info'
  t.same(to('w1'), [
    { node: 'w1', path: '/manager/info' },
    { node: 'boss', path, isDetour: true, ...passing },
    { node: 'w2', path, isDetour: true, ...passing },
  ])
  t.same(to('boss'), [
    { node: 'boss', path: '/manager/info' },
    { node: 'w2', path, isDetour: true, ...passing },
    { node: 'w1', path, isDetour: true, ...passing },
  ])
  t.same(to('w3'), [
    { node: 'boss', path, ...passing },
    { node: 'w2', path, ...passing },
    { node: 'w1', path, ...passing },
  ])
  const counters = edgeRequest('GET', '/cluster/:node_id/stats/remoted', { params: { node_id: 'w1' } })
  t.same(route(counters, view()), [{ node: 'w1', path: '/manager/stats/remoted' }], 'others would mix all nodes')
  for (const name of ['w9', '__proto__', 'constructor', '169.254.169.254', 'localhost:6379']) {
    t.throws(() => to(name), { code: 3022, status: 200, message: 'Unknown node ID' })
  }
  t.throws(() => route(edgeRequest('GET', '/cluster/:node_id/info'), view()), { code: 3022 })
  t.end()
})

t.test('every endpoint of the catalogue has a route to an existing path', (t) => {
  const paths = new Set(catalogue.map(({ path }) => path))
  for (const { method, path, target } of catalogue) {
    if (target.kind === 'edge' || target.kind === 'severalNodes') {
      t.throws(() => route(edgeRequest(method, path), view()), { code: 949 })
      continue
    }
    const candidates = route(edgeRequest(method, path, { params: { node_id: 'w1' } }), view())
    t.equal(candidates[0]?.node, target.kind === 'node' ? 'w1' : 'boss', `${method} ${path}`)
    for (const candidate of candidates) {
      const template = candidate.path.replace('/cluster/boss/', '/cluster/:node_id/')
      t.ok(paths.has(template as never), `${method} ${path} as ${candidate.path}`)
    }
  }
  t.end()
})

t.test('a node part goes to that node only, under the same path', (t) => {
  for (const router of [route, routerOf('edge')]) {
    const path = '/syscollector/:agent_id/os'
    t.same(router(edgeRequest('GET', path, { extent: { node: 'w1' } }), view()), [{ node: 'w1', path }])
    t.throws(() => router(edgeRequest('GET', path, { extent: { node: 'w3' } }), view()), {
      code: 924,
      message: /w3: it has no address/,
    })
    t.throws(() => router(edgeRequest('GET', path, { extent: { node: 'w9' } }), view()), { code: 3022 })
  }
  t.end()
})

t.test('requests to every node: each node in mode edge, the master in mode manager', (t) => {
  const path = '/experimental/syscollector/os'
  t.same(routerOf('edge')(edgeRequest('GET', path, { extent: { node: 'w1' } }), view()), [{ node: 'w1', path }])
  t.same(route(edgeRequest('GET', path, { extent: { node: 'boss' } }), view())[0], { node: 'boss', path, ...passing })
  t.ok(route(edgeRequest('GET', path, { extent: { node: 'boss' } }), view()).length > 1, 'a worker is a fallback')
  t.end()
})

t.test('mode edge: no node replaces the master or another node', (t) => {
  const edge = routerOf('edge')
  for (const { method, path, target } of catalogue) {
    if (target.kind !== 'master') continue
    t.same(edge(edgeRequest(method, path), view()), [{ node: 'boss', path }], `${method} ${path}`)
  }
  t.same(names(edge(edgeRequest('GET', '/rules'), view('boss'))), ['boss', 'w2', 'w1'], 'each node has its own rules')
  t.same(names(edge(edgeRequest('GET', '/rules', { copies: 'lagging' }), view())), ['boss'])
  const to = (name: string) => edge(edgeRequest('GET', '/cluster/:node_id/info', { params: { node_id: name } }), view())
  t.same(to('w1'), [{ node: 'w1', path: '/manager/info' }])
  t.throws(() => to('w3'), { code: 924, message: /w3: it has no address/ })
  t.throws(() => to('w9'), { code: 3022 })
  t.throws(() => edge(edgeRequest('GET', '/syscheck/:agent_id', { params: { agent_id: '001' } }), view()), {
    code: 949,
  })
  t.end()
})
