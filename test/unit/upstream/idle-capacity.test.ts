import t from 'tap'
import type { ClusterView, NodeInfo } from '../../../src/core/node-call.ts'
import { createKinds } from '../../../src/upstream/kinds.ts'
import { createNodeQuestions } from '../../../src/upstream/node-states.ts'
import { clusterViewOf } from '../../support/cluster-view.ts'
import { edgeRequest } from '../../support/edge-requests.ts'
import { routerOf } from './router-of.ts'

const route = routerOf('manager')

/** A master with that many free slots, and a worker with four. */
function view(masterSlots: number): ClusterView {
  const master: NodeInfo = { name: 'm', type: 'master', addressed: true }
  const nodes: readonly NodeInfo[] = [master, { name: 'w', type: 'worker', addressed: true }]
  return clusterViewOf(nodes, { freeSlots: (name) => (name === 'm' ? masterSlots : 4) })
}

t.test('a request for the master only has no worker as a second candidate', async (t) => {
  const nodes = (request: Parameters<typeof route>[0]) => route(request, view(4)).map(({ node }) => node)
  t.strictSame(nodes(edgeRequest('GET /rules')), ['m', 'w'])
  t.strictSame(nodes({ ...edgeRequest('GET /rules'), copies: 'lagging' }), ['m'])
  t.strictSame(
    nodes({ ...edgeRequest('GET /agents'), copies: 'lagging' }),
    ['m', 'w'],
    'a worker forwards it to the master',
  )
})

t.test('idle capacity leaves a free slot for the next client', async (t) => {
  const hasIdle = (masterSlots: number) =>
    createNodeQuestions(view(masterSlots), createKinds('manager')).hasIdleCapacity
  t.notOk(hasIdle(0)(edgeRequest('GET /agents')))
  t.notOk(hasIdle(1)(edgeRequest('GET /agents')))
  t.ok(hasIdle(2)(edgeRequest('GET /agents')))
  t.ok(
    hasIdle(0)(edgeRequest('GET /cluster/:node_id/info', { params: { node_id: 'w' } })),
    'of the node that is called',
  )
  t.notOk(
    hasIdle(4)(edgeRequest('GET /cluster/:node_id/info', { params: { node_id: 'x' } })),
    'an unknown node has none',
  )
  t.notOk(hasIdle(1)(edgeRequest('GET /experimental/syscollector/os')), 'of all nodes, if all may be called')
  t.ok(hasIdle(2)(edgeRequest('GET /experimental/syscollector/os')))
})
