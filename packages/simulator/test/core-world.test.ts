import t from 'tap'
import { createWorld } from '../src/world.ts'
import { start } from './ask.ts'

const now = () => new Date(Date.UTC(2026, 4, 1, 12))

t.test('the same seed gives the same cluster, byte for byte', async (t) => {
  const one = await start(t, { now })
  const same = await start(t, { now })
  const other = await start(t, { now, seed: 2 })
  for (const path of ['/agents', '/summary/agents', '/cluster/healthcheck', '/agents/003/key', '/cluster/config']) {
    t.equal((await one.ask(`GET ${path}`)).text, (await same.ask(`GET ${path}`)).text, path)
  }
  t.not((await one.ask('GET /agents')).text, (await other.ask('GET /agents')).text)
})

t.test('an agent is the same in a larger cluster', (t) => {
  const key = (agents: number) => createWorld({ now, agents }).agents.get('007')?.key
  t.equal(key(10), key(200))
  t.equal(createWorld({ now, agents: 1200 }).agents.size, 1201)
  t.ok(createWorld({ now, agents: 1200 }).agents.has('1200'))
  t.end()
})

t.test('the cluster has agents of every kind', async (t) => {
  const { ask } = await start(t, { agents: 100 })
  t.same((await ask('GET /agents/summary')).json?.data, {
    Total: 101,
    Active: 84,
    Disconnected: 10,
    'Never connected': 5,
    Pending: 2,
  })
  const distinct = async (field: string) => {
    const { text } = await ask(`GET /agents/stats/distinct?fields=${field}`)
    return text.match(/"count":/g)?.length ?? 0
  }
  t.ok((await distinct('os.platform')) >= 5)
  t.ok((await distinct('version')) >= 5)
  t.ok((await distinct('group')) >= 5)
  t.equal(await distinct('node_name'), 4)
})

t.test('live agents report as time passes, and others become disconnected', async (t) => {
  let clock = Date.UTC(2026, 4, 1, 12)
  const { sim, ask } = await start(t, { now: () => new Date(clock) })
  const agent = async (id: string) => (await ask(`GET /agents/${id}?select=status,lastKeepAlive`)).json?.data as object
  const before = await agent('001')
  t.same(await agent('001'), before, 'nothing changes while the clock does not advance')
  clock += 86_400_000
  t.match(await agent('001'), { status: 'Active', lastKeepAlive: /^2026-05-02 11:59:/ })
  const silent = sim.world.agents.get('001')
  if (silent !== undefined) silent.lastKeepAlive = new Date(clock - 2000_000)
  t.match(await agent('001'), { status: 'Disconnected' })
  clock += 60_000
  t.match(await agent('001'), { status: 'Disconnected' })
  await ask('PUT /agents/002/restart')
  t.match(await agent('002'), { status: 'Active' })
})
