/** Different queries of the rows of all agents: each costs what one read may, also if the rows of single agents are stored. */
import t from 'tap'
import { priceOfRead } from '../../../src/core/request.ts'
import { joinedCluster } from './cluster.ts'

const WORKERS = 2

for (const distribution of ['manager', 'edge'] as const) {
  t.test(`mode ${distribution}`, async (t) => {
    const { simulator, get } = await joinedCluster(t, { agents: 600, workers: WORKERS, distribution })
    for (const query of [
      'proto=ipv4',
      'iface=eth0',
      'q=proto=ipv4',
      'proto=ipv6',
      'search=10',
      'proto=ipv4&sort=-iface',
    ]) {
      const before = simulator.seen.length
      const { body } = await get(`/experimental/syscollector/netaddr?${query}`)
      const calls = simulator.seen.slice(before).map(({ url }) => url)
      t.equal(body.error, 0)
      t.ok(calls.length <= priceOfRead(WORKERS + 1), `${query}: ${calls.length} calls`, { calls })
    }
  })
}
