import t from 'tap'
import type { ClusterView, NodeInfo } from '../../src/core/node-call.ts'
import type { Handler, Stage } from '../../src/core/request.ts'
import { buildPipeline, type PipelineParts } from '../../src/pipeline.ts'
import { createRouter, spareCapacity } from '../../src/upstream/route.ts'
import { ask, bodyOf, good } from '../support/asks.ts'

const route = createRouter('manager')

function view(spare: number): ClusterView {
  const nodes: readonly NodeInfo[] = [
    { name: 'm', type: 'master', addressed: true },
    { name: 'w', type: 'worker', addressed: true },
  ]
  return {
    nodes: () => nodes,
    find: (name) => nodes.find((node) => node.name === name),
    master: () => ({ name: 'm', type: 'master', addressed: true }),
    isAvailable: () => true,
    freeSlots: (name) => (name === 'm' ? spare : 4),
  }
}

t.test('reads pass what keeps, writes what drops, and the edge’s own operations neither', async (t) => {
  const steps: string[] = []
  const stage =
    (name: string): Stage =>
    (next) =>
    (given) => {
      steps.push(name)
      return next(given)
    }
  const end =
    (name: string): Handler =>
    async () => {
      steps.push(name)
      return good(name)
    }
  const operation = end('operation')
  const operations = new Proxy({}, { get: () => operation }) as PipelineParts['operations']
  const handle = buildPipeline({
    operations,
    invalidate: stage('write'),
    readThrough: stage('read'),
    forward: end('node'),
  })
  await handle(ask('GET /agents'))
  await handle(ask('PUT /agents/restart'))
  await handle(ask('DELETE /cache'))
  t.strictSame(steps, ['read', 'node', 'write', 'node', 'operation'])
  const bare = buildPipeline({ operations, forward: end('node') })
  t.equal(bodyOf(await bare(ask('GET /agents'))).data, 'node', 'without a cache nodes are asked')
})

t.test(
  'what is more than one node: by target, inside of what keeps and of turns; a part of it is one node again',
  async (t) => {
    const steps: string[] = []
    const to =
      (name: string): Handler =>
      async () => {
        steps.push(name)
        return good(name)
      }
    const stage =
      (name: string): Stage =>
      (next) =>
      (given) => {
        steps.push(name)
        return next(given)
      }
    const handle = buildPipeline({
      operations: {} as PipelineParts['operations'],
      readThrough: stage('read'),
      invalidate: stage('write'),
      writeLock: stage('turn'),
      forward: to('node'),
      multiNode: (read) => ({
        askOwner: to('owner'),
        joinActs: to('acts'),
        joinReads: (given) => {
          steps.push('join')
          return read({ ...given, node: 'w' })
        },
      }),
    })
    const ways: Readonly<Record<string, readonly string[]>> = {
      'GET /agents': ['read', 'node'],
      'GET /syscheck/:agent_id': ['read', 'owner'],
      'PUT /syscheck/:agent_id': ['turn', 'write', 'owner'],
      'GET /experimental/syscollector/os': ['read', 'join', 'read', 'node'],
      'GET /cluster/:node_ids/info': ['read', 'join', 'read', 'node'],
      'GET /cluster/configuration/validation': ['read', 'acts'],
      'PUT /syscheck': ['turn', 'write', 'acts'],
      'POST /agents/restart': ['turn', 'write', 'acts'],
      'PUT /agents/groups/:group_id/restart': ['turn', 'write', 'acts'],
      'POST /agents': ['turn', 'write', 'node'],
    }
    for (const [call, way] of Object.entries(ways)) {
      steps.length = 0
      await handle(ask(call))
      t.strictSame(steps, way, call)
    }
  },
)

t.test('what workers may not have copied yet is asked of the master alone', async (t) => {
  const nodes = (given: Parameters<typeof route>[0]) => route(given, view(4)).map(({ node }) => node)
  t.strictSame(nodes(ask('GET /rules')), ['m', 'w'])
  t.strictSame(nodes({ ...ask('GET /rules'), masterOnly: true }), ['m'])
  t.strictSame(nodes({ ...ask('GET /agents'), masterOnly: true }), ['m', 'w'], 'a worker hands this on to the master')
})

t.test('spare is what leaves room for the next client', async (t) => {
  const spare = (places: number) => spareCapacity({ view: view(places), route })
  t.notOk(spare(0)(ask('GET /agents')))
  t.notOk(spare(1)(ask('GET /agents')))
  t.ok(spare(2)(ask('GET /agents')))
  t.ok(spare(0)(ask('GET /cluster/:node_id/info', { params: { node_id: 'w' } })), 'of the node that is asked')
  t.notOk(spare(4)(ask('GET /cluster/:node_id/info', { params: { node_id: 'gone' } })), 'a node that is gone has none')
  t.notOk(spare(1)(ask('GET /experimental/syscollector/os')), 'of all nodes, where all may be asked')
  t.ok(spare(2)(ask('GET /experimental/syscollector/os')))
})
