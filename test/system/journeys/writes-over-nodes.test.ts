import t from 'tap'
import { edgeMode } from './edge-mode.ts'

/** Of 40 agents every 20th never connected, 007, 017 and so on are disconnected, 033 is pending; the others are active. */
const isActive = (id: string) => Number(id) % 20 !== 0 && Number(id) % 10 !== 7 && id !== '033' && id !== '000'

t.test('a write over several nodes', async (t) => {
  const { simulator, ask, seen } = await edgeMode(t)
  const { agents, nodes } = simulator.world
  const restarts = () => Object.fromEntries([...agents.values()].map(({ id, restarts }) => [id, restarts]))
  const since = (before: Record<string, number>) =>
    Object.entries(restarts()).flatMap(([id, count]) =>
      count === before[id] ? [] : [`${id}×${count - (before[id] ?? 0)}`],
    )

  await t.test('a list of agents is split by owner, and the response has the order of the request', async (t) => {
    const before = restarts()
    const ids = ['5', '003', '001', '999', '002', '020', '4', '007']
    const { status, body, headers } = await ask('POST /agents/restart', { ids })
    t.equal(status, 200)
    t.strictSame(body.data.affected_agents, ['005', '003', '001', '002', '004'])
    t.equal(body.data.msg, 'Some agents were not restarted')
    t.strictSame(
      body.data.failed_ids.map(({ id, error }: { id: string; error: { code: number } }) => `${id} ${error.code}`),
      ['999 1701', '020 1707', '007 1707'],
    )
    t.strictSame(since(before).sort(), ['001×1', '002×1', '003×1', '004×1', '005×1'], 'each acted once')
    const calls = simulator.seen.filter(({ method, url }) => `${method} ${url}` === 'POST /agents/restart')
    t.strictSame(calls.map(({ node, body: sent }) => `${node} ${sent}`).sort(), [
      'master {"ids":["001","999","020","004","007"]}',
      'worker-1 {"ids":["005","002"]}',
      'worker-2 {"ids":["003"]}',
    ])
    t.match(headers.get('cluster-status'), /^master;rtt=\d+;rows=2, worker-1;rtt=\d+;rows=2, worker-2;rtt=\d+;rows=1$/)
    t.match((await ask('POST /agents/restart', { ids: ['001', '002'] })).body, {
      error: 0,
      data: { msg: 'All selected agents were restarted', affected_agents: ['001', '002'] },
    })
  })

  await t.test('the members of a group are restarted by their owners', async (t) => {
    const before = restarts()
    const members = [...agents.values()].filter(({ groups }) => groups.includes('default')).map(({ id }) => id)
    const active = members.filter(isActive)
    t.ok(active.length > 3 && active.length < members.length, `${members}`)
    seen()
    const { body } = await ask('PUT /agents/groups/default/restart')
    t.strictSame(body.data.affected_agents, active)
    t.strictSame(
      since(before),
      active.map((id) => `${id}×1`),
    )
    t.strictSame(
      body.data.failed_ids.map(({ id }: { id: string }) => id),
      members.filter((id) => !isActive(id)),
    )
    t.ok(
      seen().every((call) => call.endsWith('POST /agents/restart')),
      'no node is called for members of others',
    )
    const none = await ask('PUT /agents/groups/nosuchgroup/restart')
    t.match(none.body, { error: 1750 }, 'as the cluster answers when it distributes')
    t.strictSame(seen(), [], 'nothing was sent')
  })

  await t.test('writes to all agents and all nodes are sent to each node', async (t) => {
    const before = restarts()
    const all = await ask('PUT /agents/restart')
    t.match(all.body, { error: 0, data: 'Restarting all agents' })
    t.strictSame(
      since(before),
      [...agents.keys()].filter(isActive).map((id) => `${id}×1`),
    )
    t.match(all.headers.get('cluster-status'), /^master;rtt=\d+, worker-1;rtt=\d+, worker-2;rtt=\d+$/)
    seen()
    t.match((await ask('PUT /cluster/restart')).body, { error: 0, data: 'Restart request sent' })
    t.strictSame(
      nodes.map(({ restarts }) => restarts),
      [1, 1, 1],
    )
    for (const call of ['PUT /syscheck', 'PUT /rootcheck', 'DELETE /rootcheck', 'DELETE /experimental/syscheck']) {
      seen()
      t.match(await ask(call), { status: 200, body: { error: 0, data: String } }, call)
      t.strictSame(seen().sort(), [`master ${call}`, `worker-1 ${call}`, `worker-2 ${call}`])
    }
  })

  await t.test('writes that only the master can do go to the master only', async (t) => {
    seen()
    await ask('PUT /agents/002/group/web')
    await ask('DELETE /agents/002/group/web')
    await ask('DELETE /agents?ids=035&older_than=1s&purge=true')
    await ask('POST /agents', { name: 'fresh', ip: 'any' })
    const calls = seen()
    t.equal(calls.length, 4)
    t.ok(
      calls.every((call) => call.startsWith('master ')),
      calls.join(),
    )
  })
})
