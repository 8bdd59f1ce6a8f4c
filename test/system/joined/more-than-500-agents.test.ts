import t from 'tap'
import { allRows, expected, joinedCluster } from './cluster.ts'

t.test('agents after the first 500, which are missing in the list of a node, are asked one by one', async (t) => {
  // A longer deadline than the default, for machines whose cores are busy with other work.
  const cluster = { limits: { timeout: '2m' } }
  const { get, getComplete, simulator, asked } = await joinedCluster(t, { agents: 520, workers: 1, cluster })
  const rows = allRows(simulator, 'os')
  const query = { sort: 'hostname', limit: '50', offset: '480' }
  const path = `/experimental/syscollector/os?${new URLSearchParams(query)}`
  const first = await get(path)
  const calls = simulator.seen.filter(({ url }) => url !== '/' && url !== '/version')
  t.ok(calls.length <= 2 * 2 + 10, `${calls.length} calls of two for each node and ten more`, {
    calls: calls.map(({ node, url }) => `${node} ${url}`),
  })
  const { covered = 0, all = 0 } = first.body.data.covered_agents ?? {}
  t.ok(covered > 400 && covered < all, 'the first response has those of the list, and of a few more')
  const again = await get(`${path}&select=hostname`)
  t.ok((again.body.data.covered_agents?.covered ?? 0) > 400, 'and so has one after the owners are known')
  const { body } = await getComplete(path)
  t.strictSame(body, { error: 0, data: expected(rows, query) })
  t.ok(asked('/syscollector/51').length > 0, 'by a call for each agent')
})

for (const distribution of ['edge', 'manager'] as const) {
  t.test(
    `mode ${distribution}: a response that lacks agents counts all agents, and those whose rows it has`,
    async (t) => {
      const cluster = { limits: { timeout: '2m' } }
      const { get, simulator } = await joinedCluster(t, { distribution, agents: 540, workers: 2, cluster })
      const { agents } = simulator.world
      const connected = [...agents.values()].filter(
        ({ id, lastKeepAlive }) => id !== '000' && lastKeepAlive !== undefined,
      )
      for (const { id, os } of connected) {
        // Pending agents have no rows. Each of the others has one.
        if (os === undefined) agents.delete(id)
        // The lists of the master and of one worker are complete.
        else if (Number(id) > 480) simulator.moveAgent(id, 'worker-1')
      }
      const all = connected.filter(({ os }) => os !== undefined).length + (distribution === 'edge' ? 3 : 1)
      const check = ({ body: { data }, headers }: Awaited<ReturnType<typeof get>>) => {
        const covered = data.totalItems
        t.ok(covered > 100 && covered < all, `${covered} of ${all}`)
        t.strictSame(data.covered_agents, { covered, all })
        t.match(headers.get('cluster-status'), `*;agents=${covered};all-agents=${all}`)
        return covered
      }
      const covered = check(await get('/experimental/syscollector/os'))
      if (distribution === 'manager') return
      await simulator.faults.set('worker-2', { apiDown: true })
      const ofFailed = connected.filter(({ node, os }) => node === 'worker-2' && os !== undefined).length + 1
      const left = check(await get('/experimental/syscollector/hardware'))
      t.equal(left, covered - ofFailed, 'without the agents of a failed node')
    },
  )
}
