/** Rows of agents that report to another node: because an address leads to the wrong node, or because an agent moves. */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { startEdge } from '../../support/edge.ts'
import { ask, edgeMode, type Reply } from './edge-mode.ts'

const ROWS = 'GET /experimental/syscollector/netaddr?limit=1000'
const ORDER = 'GET /experimental/syscollector/hardware?limit=1000&sort=board_serial'
type Row = Readonly<Record<string, string>>

t.test('an address that leads to another node: its rows appear once, and the missing node is named', async (t) => {
  const simulator = await startSimulator({ workers: 2, agents: 12, distributed: false, password: 'only-for-tests' })
  const [master, first, second] = simulator.nodes
  if (!master || !first || !second) throw new Error('three nodes are needed')
  const detour = await startFaultProxy(Number(new URL(second.url).port))
  const edge = await startEdge({
    nodes: [master, { ...first, url: `http://127.0.0.1:${detour.port}` }, second],
    settings: { cluster: { distribution: 'edge', discover: false } },
  })
  t.teardown(async () => {
    await edge.close()
    await detour.close()
    await simulator.close()
  })
  const ownerOf = (id: string | undefined) => simulator.world.agents.get(id ?? '')?.node
  for (const call of [ROWS, ORDER]) {
    const { status, body, headers } = await ask(edge, call)
    t.equal(status, 200)
    t.match(body.data.failed_nodes, [{ node: 'worker-1', error: { code: 925, message: /agents of another node/ } }])
    t.equal(body.data.failed_nodes.length, 1)
    t.match(headers.get('cluster-status'), /worker-1;[^,]*error=http_protocol_error/)
    const rows: Row[] = body.data.items
    t.notOk(rows.some(({ agent_id, node_name }) => ownerOf(agent_id) === 'worker-1' || node_name === 'worker-1'))
    t.ok(rows.some(({ agent_id }) => ownerOf(agent_id) === 'worker-2'))
    const texts = rows.map((row) => JSON.stringify(row))
    t.equal(new Set(texts).size, texts.length, 'no row twice')
  }
})

t.test('an agent moves: its rows appear once, whatever the cache has of its old node', async (t) => {
  const { simulator, ask } = await edgeMode(t, {
    agents: 12,
    settings: { cache: { ttl: { agents: '1s', syscollector: '1h' } } },
  })
  const before = await ask(ROWS)
  t.equal(before.body.data.failed_nodes, undefined)
  const rowsOf = ({ body }: Reply) => body.data.items.filter(({ agent_id }: Row) => agent_id === '002').length
  simulator.moveAgent('002', 'worker-2')
  // The owner table is at most a second old.
  for (let page = 0; page < 40; page += 1) {
    const after = await ask(`GET /experimental/syscollector/netaddr?limit=${900 + page}`)
    t.equal(after.body.data.failed_nodes, undefined)
    t.equal(rowsOf(after), rowsOf(before), `${page}: no row is lost or repeated`)
    t.equal(after.body.data.totalItems, before.body.data.totalItems)
    await new Promise((done) => setTimeout(done, 50))
  }
})
