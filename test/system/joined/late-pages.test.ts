/** A joined read whose nodes are all late costs no more than its price: no node gets its page a second time. */
import t from 'tap'
import { priceOfRead } from '../../../src/core/request.ts'
import { simulated } from '../../support/simulated.ts'

/** A late call that clients share is sent again after 5 s, if its time is not over. */
const TIMEOUT = '6s'
const WORKERS = 2

t.test('pages of all nodes that hang', async (t) => {
  const limits = { timeout: TIMEOUT, slowTimeout: TIMEOUT, perMinute: 0 }
  const { simulator, edge } = await simulated(
    t,
    { agents: 600, workers: WORKERS, distributed: false },
    { settings: { cluster: { distribution: 'edge', limits } } },
  )
  const headers = { authorization: edge.authorization('admin') }
  const path = '/experimental/ciscat/results'
  t.equal((await fetch(`${edge.url}/agents?limit=1`, { headers })).status, 200)
  const busyUntil = new Promise<void>((resolve) => t.teardown(resolve))
  for (const { name } of simulator.nodes)
    await simulator.faults.set(name, { busyUntil, only: ({ url }) => url.startsWith(path) })
  const before = simulator.seen.length
  await fetch(edge.url + path, { headers })
  const calls = simulator.seen.slice(before).map(({ url }) => url)
  const pages = calls.filter((url) => url.startsWith(path))
  t.equal(pages.length, WORKERS + 1, 'each node got its page once')
  t.ok(calls.length <= priceOfRead(WORKERS + 1), `${calls.length} calls`)
})
