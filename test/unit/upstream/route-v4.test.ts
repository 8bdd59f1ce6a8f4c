import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import type { ClusterView, NodeInfo } from '../../../src/core/node-call.ts'
import { createKinds } from '../../../src/upstream/kinds.ts'
import { createNodeQuestions } from '../../../src/upstream/node-states.ts'
import { clusterViewOf } from '../../support/cluster-view.ts'
import { edgeRequest } from './edge-request.ts'
import { routerOf } from './router-of.ts'

const master: NodeInfo = { name: 'boss', type: 'master', addressed: true }
const nodes: readonly NodeInfo[] = [
  master,
  { name: 'w1', type: 'worker', addressed: true },
  { name: 'w2', type: 'worker', addressed: false },
]

function view(freeSlots: ClusterView['freeSlots'] = () => 4): ClusterView {
  return clusterViewOf(nodes, { layoutOf: () => 'v4', freeSlots })
}

for (const distribution of ['manager', 'edge'] as const) {
  t.test(`v4 layout: the master answers every endpoint, in mode ${distribution}`, async (t) => {
    const route = routerOf(distribution)
    for (const { method, path, target } of catalogue) {
      if (target.kind === 'edge' || target.kind === 'severalNodes') {
        t.throws(() => route(edgeRequest(method, path), view()), { code: 949 })
        continue
      }
      for (const node_id of ['boss', 'w1', 'w2']) {
        const candidates = route(edgeRequest(method, path, { params: { node_id } }), view())
        t.strictSame(
          candidates.map(({ node, replacesMaster }) => [node, replacesMaster]),
          [
            ['boss', undefined],
            ['w1', true],
          ],
          `${method} ${path}`,
        )
      }
    }
  })

  t.test(`v4 layout: no worker relieves a busy master, in mode ${distribution}`, async (t) => {
    const route = routerOf(distribution)
    const busy = view((name) => (name === 'boss' ? 0 : 4))
    const rules = edgeRequest('GET', '/rules', { copies: 'current' })
    t.strictSame(
      route(rules, busy).map(({ node, relievesMaster }) => [node, relievesMaster]),
      [
        ['boss', undefined],
        ['w1', undefined],
      ],
    )
  })

  t.test(`v4 layout: a request for a node or an agent owner goes to the master, in mode ${distribution}`, async (t) => {
    const route = routerOf(distribution)
    for (const node of ['boss', 'w1', 'w2']) {
      const request = edgeRequest('GET', '/syscheck/:agent_id', { params: { agent_id: '001' }, extent: { node } })
      t.equal(route(request, view())[0]?.node, 'boss')
    }
  })

  t.test(`v4 layout: an unknown node is 3022 without a call, in mode ${distribution}`, async (t) => {
    const route = routerOf(distribution)
    for (const name of ['w9', '__proto__', 'constructor', 'localhost:6379']) {
      const named = edgeRequest('GET', '/cluster/:node_id/info', { params: { node_id: name } })
      t.throws(() => route(named, view()), { code: 3022, status: 200 })
      t.throws(() => route(edgeRequest('GET', '/manager/info', { extent: { node: name } }), view()), { code: 3022 })
    }
  })
}

t.test('v4 layout: idle capacity is that of the master', async (t) => {
  const hasIdle = (slotsOfMaster: number, slotsOfWorker: number) =>
    createNodeQuestions(
      view((name) => (name === 'boss' ? slotsOfMaster : slotsOfWorker)),
      createKinds('manager'),
    ).hasIdleCapacity
  const everyAgent = edgeRequest('GET', '/experimental/syscollector/os')
  const severalNodes = edgeRequest('GET', '/cluster/:node_ids/info', { params: { node_ids: '*' } })
  for (const request of [everyAgent, severalNodes]) {
    t.ok(hasIdle(2, 0)(request))
    t.notOk(hasIdle(1, 4)(request))
  }
})
