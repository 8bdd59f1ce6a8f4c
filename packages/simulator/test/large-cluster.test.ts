import t from 'tap'
import { countCalls } from '../../../test/support/called-functions.ts'
import { start } from './ask.ts'

const AGENTS = 5_000

/** Returns how many calls of functions of the simulator a request causes. */
async function callsOf(request: () => Promise<unknown>): Promise<number> {
  const calls = await countCalls()
  await request()
  const called = await calls.take()
  calls.stop()
  return called.reduce((sum, { url, count }) => (url.includes('/simulator/') ? sum + count : sum), 0)
}

t.test('the health of a cluster counts its agents once, however many nodes it has', async (t) => {
  for (const layout of ['v3', 'v4'] as const) {
    for (const workers of [1, 25]) {
      const { sim } = await start(t, { agents: AGENTS, workers, layout })
      const url = sim.nodes[0]?.url ?? ''
      const basic = `Basic ${Buffer.from('edge:simulated').toString('base64')}`
      const login = { method: 'POST', headers: { authorization: basic } }
      const authorization =
        layout === 'v3'
          ? basic
          : `Bearer ${JSON.parse(await (await fetch(`${url}/security/user/authenticate`, login)).text()).data.token}`
      const health = async () => (await fetch(`${url}/cluster/healthcheck`, { headers: { authorization } })).text()
      const counts = [...(await health()).matchAll(/"n_active_agents": ?(\d+)/g)].map(([, count]) => Number(count))
      t.equal(counts.length, workers + 1)
      t.ok(Math.abs(counts.reduce((sum, count) => sum + count, 0) / AGENTS - 0.83) < 0.01, 'active agents')
      // A count for each node would be 26 times as many with 25 workers.
      const calls = await callsOf(health)
      t.ok(calls >= AGENTS && calls < 4 * AGENTS, `${layout}, ${workers} workers: ${calls} calls of functions`)
    }
  }
})
