import t from 'tap'
import { catalogue } from '../../../src/catalogue/index.ts'
import type { ClusterView, NodeInfo } from '../../../src/core/node-call.ts'
import { createRouter, route } from '../../../src/upstream/route.ts'
import { ask } from './edge-request.ts'

const master: NodeInfo = { name: 'boss', type: 'master', addressed: true }
const nodes: NodeInfo[] = [
  master,
  { name: 'w1', type: 'worker', addressed: true },
  { name: 'w2', type: 'worker', addressed: true },
  { name: 'w3', type: 'worker', addressed: false },
]

function view(...away: string[]): ClusterView {
  return {
    nodes: () => nodes,
    find: (name) => nodes.find((node) => node.name === name),
    master: () => master,
    isAvailable: (name) => !away.includes(name),
    freeSlots: () => 1,
  }
}

const names = (candidates: readonly { node: string }[]) => candidates.map(({ node }) => node)

t.test('the master first; workers stand in where they hand the call on', (t) => {
  t.same(route(ask('GET', '/agents'), view()), [
    { node: 'boss', path: '/agents' },
    { node: 'w2', path: '/agents' },
    { node: 'w1', path: '/agents' },
  ])
  t.same(names(route(ask('GET', '/agents'), view('boss', 'w2'))), ['boss', 'w1'], 'those that are there')
  t.same(names(route(ask('GET', '/agents', { requestId: 'b' }), view())), ['boss', 'w1', 'w2'], 'taking turns')
  t.same(names(route(ask('GET', '/rules'), view())), ['boss', 'w2', 'w1'])
  t.end()
})

t.test('the master itself is asked for through a worker under its own name, or not at all', (t) => {
  t.same(route(ask('GET', '/manager/info'), view('w2')), [
    { node: 'boss', path: '/manager/info' },
    { node: 'w1', path: '/cluster/boss/info' },
  ])
  t.same(route(ask('GET', '/cluster/config'), view()), [{ node: 'boss', path: '/cluster/config' }])
  t.end()
})

t.test('a node: by its own address, else through the master, else nobody is asked', (t) => {
  const to = (name: string) => route(ask('GET', '/cluster/:node_id/info', { params: { node_id: name } }), view())
  t.same(to('w1'), [{ node: 'w1', path: '/manager/info' }])
  t.same(to('boss'), [{ node: 'boss', path: '/manager/info' }])
  t.same(to('w3'), [{ node: 'boss', path: '/cluster/:node_id/info' }])
  for (const name of ['w9', '__proto__', 'constructor', '169.254.169.254', 'localhost:6379']) {
    t.throws(() => to(name), { code: 3022, status: 200, message: 'Unknown node ID' })
  }
  t.throws(() => route(ask('GET', '/cluster/:node_id/info'), view()), { code: 3022 })
  t.end()
})

t.test('every record of the catalogue has a way that leads somewhere', (t) => {
  const paths = new Set(catalogue.map(({ path }) => path))
  for (const { method, path, target } of catalogue) {
    if (target.kind === 'edge' || target.kind === 'severalNodes') {
      t.throws(() => route(ask(method, path), view()), { code: 949 })
      continue
    }
    const way = route(ask(method, path, { params: { node_id: 'w1' } }), view())
    t.equal(way[0]?.node, target.kind === 'node' ? 'w1' : 'boss', `${method} ${path}`)
    for (const candidate of way) {
      const template = candidate.path.replace('/cluster/boss/', '/cluster/:node_id/')
      t.ok(paths.has(template as never), `${method} ${path} as ${candidate.path}`)
    }
  }
  t.end()
})

t.test('a part of a joined answer is that node’s own, under the same path', (t) => {
  for (const way of [route, createRouter('edge')]) {
    const path = '/syscollector/:agent_id/os'
    t.same(way(ask('GET', path, { node: 'w1' }), view()), [{ node: 'w1', path }])
    t.throws(() => way(ask('GET', path, { node: 'w3' }), view()), { code: 924, message: /w3: it has no address/ })
    t.throws(() => way(ask('GET', path, { node: 'w9' }), view()), { code: 3022 })
  }
  t.end()
})

t.test('what all nodes answer: each its own, or the master for all, in through any', (t) => {
  const path = '/experimental/syscollector/os'
  t.same(createRouter('edge')(ask('GET', path, { node: 'w1' }), view()), [{ node: 'w1', path }])
  t.same(route(ask('GET', path, { node: 'boss' }), view())[0], { node: 'boss', path })
  t.ok(route(ask('GET', path, { node: 'boss' }), view()).length > 1, 'a worker stands in')
  t.end()
})

t.test('nodes that do not distribute: nobody stands in for the master, and no node for another', (t) => {
  const edge = createRouter('edge')
  for (const { method, path, target } of catalogue) {
    if (target.kind !== 'master') continue
    t.same(edge(ask(method, path), view()), [{ node: 'boss', path }], `${method} ${path}`)
  }
  t.same(names(edge(ask('GET', '/rules'), view('boss'))), ['boss', 'w2', 'w1'], 'each has its own rules')
  t.same(names(edge(ask('GET', '/rules', { masterOnly: true }), view())), ['boss'])
  const to = (name: string) => edge(ask('GET', '/cluster/:node_id/info', { params: { node_id: name } }), view())
  t.same(to('w1'), [{ node: 'w1', path: '/manager/info' }])
  t.throws(() => to('w3'), { code: 924, message: /w3: it has no address/ })
  t.throws(() => to('w9'), { code: 3022 })
  t.throws(() => edge(ask('GET', '/syscheck/:agent_id', { params: { agent_id: '001' } }), view()), { code: 949 })
  t.end()
})
