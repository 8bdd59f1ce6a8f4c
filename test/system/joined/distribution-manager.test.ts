import t from 'tap'
import { allRows, expected, joinedCluster, statusOf } from './cluster.ts'

const OS = '/experimental/syscollector/os'
const NETADDR = '/experimental/syscollector/netaddr'

t.test('if the cluster fails as a whole, the other nodes contribute and the failed node is named', async (t) => {
  const { get, simulator } = await joinedCluster(t, { distribution: 'manager', agents: 12 })
  const ofOthers = (kind: 'os' | 'netaddr') =>
    allRows(simulator, kind, true).filter(({ agent_id }) => {
      return simulator.world.agents.get(String(agent_id))?.node !== 'worker-2'
    })
  await simulator.faults.set('worker-2', { clusterDown: true })
  for (const [path, kind] of [
    [OS, 'os'],
    [NETADDR, 'netaddr'],
  ] as const) {
    const given = await get(`${path}?sort=-scan_id&limit=40`)
    const { failed_nodes = [], ...data } = given.body.data
    t.strictSame(data, expected(ofOthers(kind), { sort: '-scan_id', limit: '40' }))
    const codes = Object.fromEntries(failed_nodes.map(({ node, error }) => [node, error.code]))
    // Through the master agent 000 has the rows of the master only, so those of the workers are missing too.
    t.strictSame(codes, { 'worker-1': 935, 'worker-2': 3022 })
    t.match(statusOf(given), { 'worker-2': /^error=destination_not_found;received-status=200/ })
  }
  const page = simulator.seen.filter(({ url }) => url.startsWith('/syscollector/')).map(({ node }) => node)
  t.strictSame(new Set(page), new Set(['master']), 'agents are asked through the master')
})

const TIMEOUT_MS = 5000

t.test('a worker that hangs costs a part of the time, and the others are read in the rest', async (t) => {
  const { get, simulator } = await joinedCluster(t, {
    distribution: 'manager',
    agents: 6,
    cluster: { limits: { timeout: `${TIMEOUT_MS}ms` } },
  })
  await simulator.faults.set('worker-1', { delay: 3 * TIMEOUT_MS })
  // In this mode only the cluster behind the API of the master is slow.
  const before = performance.now()
  const given = await get(NETADDR)
  const took = performance.now() - before
  // All timers are late on a busy machine; the node itself would have taken three times the timeout.
  t.ok(took < 2 * TIMEOUT_MS, `${Math.round(took)} ms`)
  t.match(given.body.data.failed_nodes, [{ node: 'worker-1', error: { code: 922 } }, { node: 'worker-2' }])
  const rows = allRows(simulator, 'netaddr', true).filter(({ agent_id }) => {
    return simulator.world.agents.get(String(agent_id))?.node !== 'worker-1'
  })
  t.strictSame(given.body.data.totalItems, rows.length)
})
