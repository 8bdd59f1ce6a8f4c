import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { reloadable } from './edge.ts'

const UNKNOWN_NODE = 3022

t.test('discovery is switched off and on without a restart', async (t) => {
  const { simulator, change, get } = await reloadable(t, { cache: { staleIfError: '0s' } })
  const [master] = simulator.nodes
  // The settings do not name the worker any more: only the list of the master does.
  await change({ 'cluster.nodes': [{ name: master?.name, type: 'master', url: master?.url }] })
  const isKnown = async () => {
    const { error } = (await (await get('/cluster/worker-1/logs?limit=1')).json()) as { error: number }
    return error !== UNKNOWN_NODE
  }
  await eventually(isKnown)
  await change({ 'cluster.discover': false })
  // Stored responses of the node are served while they are fresh, and not stale with this setting.
  await eventually(async () => !(await isKnown()))
  const before = simulator.seen.length
  await change({ 'cluster.discover': true })
  await eventually(isKnown)
  t.ok(
    simulator.seen.slice(before).some(({ url }) => url.startsWith('/cluster/nodes')),
    'the list is read at once',
  )
})
