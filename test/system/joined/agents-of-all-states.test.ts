import t from 'tap'
import { statusOf } from '../../../packages/simulator/src/agent-state.ts'
import { allRows, expected, joinedCluster, kinds, pathOf } from './cluster.ts'

/** A manager returns no more rows than this at once. */
const MAX_ROWS = 1000
const STATES = ['Active', 'Disconnected', 'Never connected', 'Pending']

/** Among the first 40 agents of the simulated cluster there is one of each state. */
const AGENTS = 40

t.test('mode manager: every collection over agents of all states is complete, without a failed node', async (t) => {
  const { simulator, get, getComplete } = await joinedCluster(t, {
    distribution: 'manager',
    agents: AGENTS,
    cache: { ttl: { syscollector: '10m', ciscat: '10m' } },
  })
  const { agents, now } = simulator.world
  t.strictSame([...new Set([...agents.values()].map((agent) => statusOf(agent, now())))].sort(), STATES)
  let whole = 0
  for (const kind of kinds) {
    const rows = allRows(simulator, kind)
    if (rows.length >= MAX_ROWS) {
      // The cluster cannot return all rows at once, so agents are asked one by one, without the workers themselves.
      const { body } = await getComplete(`${pathOf(kind)}?limit=100`)
      t.equal(body.data.totalItems, allRows(simulator, kind, true).length, kind)
      continue
    }
    whole += 1
    const { body, headers } = await get(`${pathOf(kind)}?limit=${MAX_ROWS}`)
    const { items, totalItems, failed_nodes } = body.data
    t.strictSame(texts(items), texts(expected(rows, { limit: `${MAX_ROWS}` }).items.map(withoutNode)), kind)
    t.equal(totalItems, rows.length, `${kind}: the total is the number of rows`)
    t.equal(failed_nodes, undefined, kind)
    t.match(headers.get('cache-status'), /; stored/, `${kind} is stored`)
    t.match((await get(`${pathOf(kind)}?limit=${MAX_ROWS}`)).headers.get('cache-status'), /; hit/)
    const ofAgents = kind === 'ciscat' ? /^\/ciscat\/\d+\// : new RegExp(`^/syscollector/\\d+/${kind}`)
    t.notOk(
      simulator.seen.some(({ url }) => ofAgents.test(url)),
      `${kind}: no agent is asked`,
    )
    const page = await get(`${pathOf(kind)}?offset=1&limit=2`)
    t.match(page.body.data, { totalItems: rows.length, failed_nodes: undefined }, `${kind}: a later page`)
  }
  t.ok(whole >= 5, `${whole} kinds fit on one page`)
})

t.test('mode edge: every collection over agents of all states is complete, without a failed node', async (t) => {
  const { simulator, getComplete } = await joinedCluster(t, { agents: AGENTS })
  for (const kind of kinds) {
    const { data } = (await getComplete(`${pathOf(kind)}?limit=100`)).body
    t.strictSame(data, expected(allRows(simulator, kind), { limit: '100' }), kind)
  }
})

function withoutNode({ node_name: _, ...row }: Readonly<Record<string, unknown>>) {
  return row
}

/** The manager returns rows with equal sort keys in another order. */
function texts(rows: readonly object[]): readonly string[] {
  return rows.map((row) => JSON.stringify(row)).sort()
}
