import t from 'tap'
import { edgeRequest, success } from '../../../support/edge-requests.ts'
import { settings, snapshotReplica } from './collection-node.ts'

const AGENTS = 200
/** Of text; the memory of the process may grow by about twice as much. */
const LOCAL_BYTES = 256 * 1024

t.test('snapshots of a few rows count for what they take in memory, not for their text alone', async (t) => {
  const edge = snapshotReplica([], {
    settings: { snapshots: { ...settings, groups: ['syscollector'], localBytes: LOCAL_BYTES } },
  })
  edge.nodes.respond = () => success({ items: [{ scan: { id: 1 }, iface: 'eth0' }], totalItems: 1 })
  for (let agent = 1; agent <= AGENTS; agent += 1) {
    const params = { agent_id: String(agent).padStart(3, '0') }
    for (const query of [{ limit: '5' }, { limit: '6' }]) {
      await edge.read(edgeRequest('GET /syscollector/:agent_id/netproto', { params, query }))
    }
  }
  const { length } = edge.cache.snapshots()
  t.ok(length > 10, `${length} snapshots`)
  // Each takes 8 KB or more.
  t.ok(length <= (2 * LOCAL_BYTES) / 8000, `${length} snapshots`)
})
