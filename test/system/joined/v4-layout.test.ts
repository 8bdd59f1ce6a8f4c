/** Rows of all agents through a cluster of the v4 layout, whose master the edge asks for lists of agents. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'
import { allRows, type Given } from './cluster.ts'

interface Collection {
  readonly items: readonly Readonly<Record<string, unknown>>[]
  readonly totalItems: number
}

t.test('pages of all agents are cut from the rows that each agent has', async (t) => {
  const { edge } = await simulated(t, { layout: 'v4', agents: 12 }, { settings: { cluster: { layout: 'v4' } } })
  const get = async (path: string) => {
    const response = await fetch(edge.url + path, { headers: { authorization: edge.authorization('admin') } })
    const { data } = (await response.json()) as { data: Collection }
    return data
  }
  const { items: agents } = await get('/agents?select=id,status')
  const ids = agents
    .filter(({ status }) => status === 'Active' || status === 'Disconnected')
    .map(({ id }) => String(id))
  const rows: { agent_id: string; local: { port: number } }[] = []
  for (const agent_id of ids.toSorted()) {
    const { items } = await get(`/syscollector/${agent_id}/ports`)
    rows.push(...items.map((row) => ({ agent_id, local: { port: (row.local as { port: number }).port } })))
  }
  rows.sort((a, b) => b.local.port - a.local.port || Number(a.agent_id) - Number(b.agent_id))
  t.ok(rows.length > 10, `${rows.length} rows`)
  for (const offset of [0, 4, rows.length - 2]) {
    const query = `sort=-local_port&select=local_port&offset=${offset}&limit=4`
    const { items, totalItems } = await get(`/experimental/syscollector/ports?${query}`)
    t.equal(totalItems, rows.length)
    t.same(items, rows.slice(offset, offset + 4), `from ${offset}`)
  }
})

t.test('a response that lacks agents counts all agents, and those whose rows it has', async (t) => {
  const settings = { cluster: { layout: 'v4', limits: { timeout: '2m' } } }
  const { simulator, edge } = await simulated(t, { layout: 'v4', agents: 1800, workers: 1 }, { settings })
  const { agents } = simulator.world
  // Pending agents are not asked.
  const asked = [...agents.values()].filter(({ lastKeepAlive, os }) => lastKeepAlive !== undefined && os !== undefined)
  const rows = new Map<unknown, number>()
  for (const { agent_id } of allRows(simulator, 'packages', true)) rows.set(agent_id, (rows.get(agent_id) ?? 0) + 1)
  const check = async (path: string, lost?: string) => {
    const response = await fetch(edge.url + path, { headers: { authorization: edge.authorization('admin') } })
    const { data } = (await response.json()) as Given['body']
    const { covered = 0, all } = data.covered_agents ?? {}
    t.equal(all, asked.length)
    const ids = asked.filter(({ node }) => node !== lost).map(({ id }) => id)
    // The edge asks agents in the order of their numbers.
    const first = ids.toSorted((a, b) => Number(a) - Number(b)).slice(0, covered)
    t.equal(
      data.totalItems,
      first.reduce((sum, id) => sum + (rows.get(id) ?? 0), 0),
      `${covered} of ${all}`,
    )
    t.ok(covered > 100)
  }
  await check('/experimental/syscollector/packages?limit=1000')
  await simulator.leave('worker-1')
  await check('/experimental/syscollector/packages?limit=900', 'worker-1')
})
