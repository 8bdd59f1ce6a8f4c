import { request } from 'node:http'
import t from 'tap'
import { joinedCluster } from './cluster.ts'

t.test('a client that leaves ends the calls that nobody else waits for', async (t) => {
  const { edge, simulator, asked, get } = await joinedCluster(t, { agents: 40 })
  const slow = { delay: 150 }
  await Promise.all(simulator.nodes.map(({ name }) => simulator.faults.set(name, slow)))
  const leaving = request(`${edge.url}/experimental/syscollector/packages`, {
    headers: { authorization: edge.authorization('admin'), 'cache-control': 'no-store' },
  })
  leaving.on('error', () => undefined)
  leaving.end()
  while (asked('/syscollector/0').length < 3) await new Promise((resolve) => setTimeout(resolve, 20))
  leaving.destroy()
  await new Promise((resolve) => setTimeout(resolve, 400))
  const calls = asked('/syscollector/0').length
  t.ok(calls < 30, `${calls} of 40 agents were asked`)
  await new Promise((resolve) => setTimeout(resolve, 600))
  t.equal(asked('/syscollector/0').length, calls, 'and no other one since')
  await simulator.faults.clear()
  t.match(await get('/experimental/syscollector/os'), { status: 200, body: { error: 0 } }, 'the edge goes on')
})
