import t from 'tap'
import { joinedCluster, statusOf } from './cluster.ts'

const PACKAGES = '/experimental/syscollector/packages?limit=20'

t.test(
  'a response is stored although rows are missing that no node can return, and names them on hits too',
  async (t) => {
    const { get, simulator } = await joinedCluster(t, {
      distribution: 'manager',
      agents: 12,
      cache: { snapshots: { groups: [] }, ttl: { syscollector: '10m', agents: '10m' } },
    })
    const first = await get(PACKAGES)
    const calls = simulator.seen.length
    const again = await get(PACKAGES)
    t.match(again.headers.get('cache-status'), /^manager-edge; hit/)
    t.equal(simulator.seen.length, calls, 'no node is called')
    for (const given of [first, again]) {
      t.match(given.body.data.failed_nodes, [{ node: 'worker-1', error: { code: 935 } }, { node: 'worker-2' }])
      t.match(statusOf(given), { 'worker-1': /error=http_response_incomplete/ })
    }
    t.strictSame(again.body, first.body)
  },
)

t.test('a response that lacks rows because a node fails is not stored', async (t) => {
  const { get, simulator } = await joinedCluster(t, {
    distribution: 'manager',
    agents: 12,
    cache: { snapshots: { groups: [] }, ttl: { syscollector: '10m', agents: '10m' } },
  })
  await simulator.faults.set('worker-2', { clusterDown: true })
  const first = await get(PACKAGES)
  t.match(first.body.data.failed_nodes, [{ error: { code: 935 } }, { node: 'worker-2', error: { code: 3022 } }])
  await simulator.faults.clear()
  const again = await get(PACKAGES)
  t.notMatch(again.headers.get('cache-status'), /; hit/)
  t.notMatch(JSON.stringify(again.body.data.failed_nodes ?? []), /3022/)
})
