import t from 'tap'
import { sendAndLeaveLater } from '../../support/raw.ts'
import { joinedCluster } from './cluster.ts'

t.test('when its client leaves, a joined read calls no further agents', async (t) => {
  const { edge, simulator, asked, get } = await joinedCluster(t, { agents: 40 })
  const slow = { delay: 150 }
  await Promise.all(simulator.nodes.map(({ name }) => simulator.faults.set(name, slow)))
  // A read that names agents asks each of them.
  const named = [...simulator.world.agents.keys()].join(',')
  const leave = sendAndLeaveLater(`${edge.url}/experimental/syscollector/packages?agent_id=${named}`, {
    authorization: edge.authorization('admin'),
    'cache-control': 'no-store',
  })
  // A read from a slow node takes as long as the next calls of the joined read would.
  const oneDelay = () => get('/cluster/master/info', { 'cache-control': 'no-store' })
  while (asked('/syscollector/0').length < 3) await new Promise((resolve) => setTimeout(resolve, 20))
  await leave()
  await oneDelay()
  const calls = asked('/syscollector/0').length
  t.ok(calls < 30, `${calls} of 40 agents were called`)
  for (let delays = 0; delays < 4; delays += 1) await oneDelay()
  t.equal(asked('/syscollector/0').length, calls, 'no further calls')
  await simulator.faults.clear()
  t.match(await get('/experimental/syscollector/os'), { status: 200, body: { error: 0 } }, 'the edge still responds')
})
