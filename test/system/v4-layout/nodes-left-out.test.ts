/** v4 layout: the cluster leaves out a node that it cannot reach, without an error. The edge does not. */
import t from 'tap'
import { v4Cluster } from './cluster.ts'

t.test('a validation of all nodes has no verdict while a worker is missing', async (t) => {
  const { simulator, send } = await v4Cluster(t)
  t.match(await send('/cluster/configuration/validation'), { error: 0, data: { status: 'OK' } })
  await simulator.faults.set('worker-2', { clusterDown: true })
  const left = await send('/cluster/configuration/validation', { headers: { 'cache-control': 'no-cache' } })
  t.match(left, { status: 502, error: 924, message: /worker-2/ })
})

t.test('a restart of all nodes names the worker that does not restart', async (t) => {
  const { simulator, send } = await v4Cluster(t)
  await simulator.faults.set('worker-1', { clusterDown: true })
  const restart = await send('/cluster/restart', { method: 'PUT' })
  t.match(restart, { status: 502, error: 932, message: /carried out on master, worker-2; not on worker-1/ })
})

t.test('a worker that has left the cluster is an unknown node', async (t) => {
  const { simulator, send } = await v4Cluster(t)
  await simulator.faults.set('worker-1', { clusterDown: true })
  for (const path of [
    'info',
    'logs?limit=1',
    'stats/remoted',
    'configuration/validation',
    'files?path=etc/ossec.conf',
  ]) {
    t.match(await send(`/cluster/worker-1/${path}`), { status: 200, error: 3022, message: 'Unknown node ID' }, path)
  }
  t.match(await send('/cluster/worker-1/restart', { method: 'PUT' }), { error: 3022 })
})

t.test('several nodes: those that answer are returned, and the others are named', async (t) => {
  const { simulator, send } = await v4Cluster(t)
  await simulator.faults.set('worker-1', { clusterDown: true })
  const { error, data } = await send('/cluster/*/info')
  const { items, failed_nodes } = data as { items: { node_name: string }[]; failed_nodes: unknown }
  t.equal(error, 0)
  t.strictSame(
    items.map(({ node_name }) => node_name),
    ['master', 'worker-2'],
  )
  t.match(failed_nodes, [{ node: 'worker-1', error: { code: 3022 } }])
})
