import t from 'tap'
import { start } from './ask.ts'

const AGENTS = 20_000
const ROUNDS = 5

/** Returns the milliseconds of CPU time of a request, of the best of some rounds. */
async function cpuOf(request: () => Promise<unknown>): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage()
    await request()
    const { user, system } = process.cpuUsage(before)
    rounds.push((user + system) / 1000)
  }
  return Math.min(...rounds)
}

t.test('the health of a cluster counts its agents once, however many nodes it has', async (t) => {
  for (const layout of ['v3', 'v4'] as const) {
    const costs: number[] = []
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
      costs.push(await cpuOf(health))
    }
    const [few = 0, many = 0] = costs
    t.ok(many < 2.5 * few, `${layout}: ${few} ms with one worker, ${many} ms with 25`)
  }
})
