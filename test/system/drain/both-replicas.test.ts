import t from 'tap'
import type { SeenRequest } from '../../../packages/simulator/src/model.ts'
import { eventually } from '../../support/eventually.ts'
import { drain, drainRecords, putBack, read, startReplicas, stateOf } from './replicas.ts'

for (const layout of ['v3', 'v4'] as const) {
  t.test(`a node that is drained through one replica gets no call from both, layout ${layout}`, async (t) => {
    const { simulator, here, there } = await startReplicas(t, { layout }, { layout })
    const calls = () => simulator.seen.filter(({ node }) => node === 'worker-1').length
    t.match(await read(there, '/cluster/worker-1/status'), { status: 200, body: { error: 0 } })

    t.match(await drain(here, 'worker-1'), { status: 200, body: { node: 'worker-1', drained: true } })
    t.equal(await stateOf(here, 'worker-1'), 'drained')
    await eventually(async () => (await stateOf(there, 'worker-1')) === 'drained')
    const before = calls()
    for (const edge of [here, there]) {
      for (const path of ['/agents?limit=2', '/rules?limit=2', '/cluster/nodes']) {
        t.match(await read(edge, path), { status: 200, body: { error: 0 } }, path)
      }
      const named = await read(edge, '/cluster/worker-1/status')
      t.match(named, { status: 503, body: { error: 920, message: /drained for maintenance/ } })
    }
    const ready = (await (await fetch(`${there.operationsUrl}/readyz?verbose`)).json()) as object
    t.match(ready, {
      status: 'ready',
      degraded: [{ reason: 'nodeDrained', detail: '1 of 3 nodes are drained for maintenance' }],
    })
    t.equal(calls(), before, 'no call, and no probe')

    t.match(await putBack(there, 'worker-1'), { status: 200, body: { node: 'worker-1', drained: false } })
    await eventually(async () => (await read(here, '/cluster/worker-1/status')).status === 200)
    t.equal((await read(there, '/cluster/worker-1/status')).status, 200)
    t.match(drainRecords(here), [
      { kind: 'intent', caller: 'admin', method: 'PUT', params: { node: 'worker-1' } },
      { kind: 'outcome', outcome: 'done', caller: 'admin', method: 'PUT', params: { node: 'worker-1' } },
    ])
    t.match(drainRecords(there), [
      { kind: 'intent', method: 'DELETE' },
      { outcome: 'done', method: 'DELETE' },
    ])
  })
}

t.test('in mode edge, a joined response names the drained node with its error, and calls in flight end', async (t) => {
  const { simulator, here, there } = await startReplicas(t, {}, { distribution: 'edge' })
  let arrived = 0
  const only = ({ url }: SeenRequest) => url.includes('stats') && ++arrived > 0
  await simulator.faults.set('worker-1', { delay: 1500, only })
  const running = read(there, '/cluster/worker-1/stats')
  await eventually(() => arrived > 0)
  await drain(here, 'worker-1')
  await eventually(async () => (await stateOf(there, 'worker-1')) === 'drained')
  t.equal((await running).status, 200, 'the call in flight ended with its response')
  const joined = await read(there, '/cluster/*/logs?limit=5')
  t.equal(joined.status, 200)
  t.match(joined.body.data?.failed_nodes, [
    { node: 'worker-1', error: { code: 920, message: /drained for maintenance/ } },
  ])
})

t.test(
  'reads that each node can answer go to a worker while the master is drained; writes fail with 920',
  async (t) => {
    const { simulator, here } = await startReplicas(t)
    const calls = () => simulator.seen.filter(({ node }) => node === 'master').length
    t.match(await drain(here, 'master'), { status: 409, body: { error: 940, message: /master.*confirm=master/ } })
    t.equal(await stateOf(here, 'master'), 'up')
    const headers = { authorization: here.authorization('admin'), 'x-edge-console': '1' }
    const url = `${here.operationsUrl}/api/nodes/master/drain?confirm=master`
    t.equal((await fetch(url, { method: 'PUT', headers })).status, 200)
    const before = calls()
    t.match(await read(here, '/rules?limit=1'), { status: 200, body: { error: 0 } })
    t.match(await read(here, '/agents?limit=1'), { status: 503, body: { error: 920 } })
    const write = await fetch(`${here.url}/agents/001/restart`, { method: 'PUT', headers })
    t.match(await write.json(), { error: 920 })
    t.equal(calls(), before)
  },
)
