/** Rows of all agents through a cluster of the v4 layout, whose master the edge asks for lists of agents. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

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
