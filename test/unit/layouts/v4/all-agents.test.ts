/** Rows of all agents are joined from lists of agents that a node with the v4 layout can answer. */
import t from 'tap'
import { EdgeError } from '../../../../src/core/errors.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { type InventoryAgent, inventoryNode, type Port } from './inventory-node.ts'
import { ask, recorded, success } from './recorded.ts'

const PORTS = '/experimental/syscollector/ports'
const port = (local_port: number, protocol = 'tcp'): Port => ({ scan_id: 0, protocol, local_port })
const agent = (id: string, ports: readonly Port[], more: Partial<InventoryAgent> = {}): InventoryAgent => ({
  id,
  node: 'master',
  ports,
  ...more,
})

const three = [
  agent('000', [port(22), port(443)]),
  agent('001', [port(80)], { node: 'worker-1' }),
  agent('002', [port(25), port(22, 'udp')], { node: 'worker-2' }),
]

t.test('a page is cut once from the rows of all agents, which keep their agent', async (t) => {
  const query = { sort: '-local_port', offset: '1', limit: '2', select: 'local_port' }
  const { calls, data } = await ask(edgeRequest('GET', PORTS, { query }), inventoryNode({ agents: three }))
  t.equal(calls[0], 'GET /agents?select=id&status=active,disconnected&limit=100000')
  t.equal(
    calls[1],
    `GET ${PORTS}?sort=-local.port,protocol,local.ip,inode&select=local.port&limit=3&agents_list=000,001,002`,
  )
  t.equal(calls.length, 2)
  t.same(data, {
    items: [
      { agent_id: '001', local: { port: 80 } },
      { agent_id: '002', local: { port: 25 } },
    ],
    totalItems: 5,
  })
})

t.test('rows with equal sort fields have the order of their agents', async (t) => {
  const query = { sort: 'protocol', select: 'protocol' }
  const { data } = await ask(edgeRequest('GET', PORTS, { query }), inventoryNode({ agents: three }))
  const { items } = data as { items: { agent_id: string }[] }
  t.same(
    items.map(({ agent_id }) => agent_id),
    ['000', '000', '001', '002', '002'],
  )
})

t.test('only the named agents are asked, without a list of all', async (t) => {
  const query = { agent_id: '001,002', limit: '1' }
  const { calls, data } = await ask(edgeRequest('GET', PORTS, { query }), inventoryNode({ agents: three }))
  t.match(calls, [/agents_list=001,002$/])
  t.match(data, { items: [{ agent_id: '001' }], totalItems: 3 })
})

t.test('agents without an inventory are left out', async (t) => {
  const lists: string[][] = []
  const agents = [...three, agent('003', [], { hasNoDatabase: true }), agent('004', [], { hasNoDatabase: true })]
  const { data } = await ask(edgeRequest('GET', PORTS), inventoryNode({ agents, lists }))
  t.match(data, { totalItems: 5 })
  t.same(
    lists.map((ids) => ids.length),
    [5, 4, 3],
  )
  const none = await ask(edgeRequest('GET', PORTS), inventoryNode({ agents: agents.slice(3) }))
  t.same(none.data, { items: [], totalItems: 0 })
})

t.test('several nodes name agents without an inventory at once', async (t) => {
  const call = 'GET /experimental/syscollector/hardware?limit=2'
  const agents = ['001', '005', '006', '007'].map((id) => ({ id }))
  let lists = 0
  const { calls, data } = await ask(edgeRequest('GET', '/experimental/syscollector/hardware'), ({ path }) => {
    if (path.startsWith('/agents')) return success(agents)
    lists += 1
    return lists === 1 ? recorded(call) : recorded('GET /experimental/syscollector/hardware?agents_list=001&limit=1')
  })
  t.match(calls[2], /agents_list=001$/)
  t.match(data, { items: [{ agent_id: '001', scan: { time: '2026/11/22 00:22:28' } }], totalItems: 1 })
})

t.test('a lost node is named, and its agents have no rows', async (t) => {
  const node = inventoryNode({ agents: three, lostNodes: ['worker-2'] })
  const { data, response } = await ask(edgeRequest('GET', PORTS), node)
  t.match(data, {
    totalItems: 3,
    failed_nodes: [{ node: 'worker-2', error: { code: 3022, message: 'Unknown node ID' } }],
  })
  t.match(response, { origin: { completeness: 'partial' } })
})

t.test('the edge evaluates conditions over all rows', async (t) => {
  const query = { q: 'local_port>22;protocol=tcp', sort: '-local_port', select: 'local_port', limit: '1', offset: '1' }
  const { calls, data } = await ask(edgeRequest('GET', PORTS, { query }), inventoryNode({ agents: three }))
  t.notMatch(calls[1], /[?&](?:q|select)=/)
  t.match(calls[1], /limit=100000/)
  t.same(data, { items: [{ agent_id: '001', local: { port: 80 } }], totalItems: 3 })
})

t.test('the edge compares texts that the node searches', async (t) => {
  const rows = ['Debian GNU/Linux', 'Debian'].map((name, at) => ({ os: { name }, agent_id: `00${at}` }))
  const request = edgeRequest('GET', '/experimental/syscollector/os', { query: { os_name: 'Debian' } })
  const { data } = await ask(request, ({ path }) =>
    success(path.startsWith('/agents') ? [{ id: '000' }, { id: '001' }] : rows),
  )
  t.same(data, { items: [{ os: { name: 'Debian' }, agent_id: '001' }], totalItems: 1 })
})

t.test('a cluster without agents has an empty page', async (t) => {
  const { calls, data } = await ask(edgeRequest('GET', PORTS), inventoryNode({ agents: [] }))
  t.equal(calls.length, 1)
  t.same(data, { items: [], totalItems: 0 })
})

t.test('lists of agents fit into the request line', async (t) => {
  const lists: string[][] = []
  const agents = Array.from({ length: 3000 }, (_, at) => agent(String(at).padStart(3, '0'), [port(at)]))
  const query = { sort: 'local_port', limit: '2', offset: '2500' }
  const { data } = await ask(edgeRequest('GET', PORTS, { query }), inventoryNode({ agents, lists }))
  t.match(data, { items: [{ agent_id: '2500' }, { agent_id: '2501' }], totalItems: 3000 })
  t.same(
    lists.flat(),
    agents.map(({ id }) => id),
  )
  t.ok(lists.length <= 5, `${lists.length} lists`)
})

t.test('a read that needs too many calls is refused', async (t) => {
  const agents = Array.from({ length: 2000 }, (_, at) => agent(String(at).padStart(3, '0'), []))
  const rows = Array.from({ length: 1000 }, (_, at) => ({ protocol: 'tcp', local: { port: at } }))
  const request = edgeRequest('GET', PORTS, { query: { limit: '1000' }, effort: 'complete' })
  let calls = 0
  const asked = ask(request, ({ path }) => {
    calls += 1
    if (path.startsWith('/agents')) return success(agents.map(({ id }) => ({ id })))
    const ids = new URL(path, 'http://node').searchParams.get('agents_list')?.split(',') ?? []
    return success(ids.flatMap((agent_id) => rows.map((row) => ({ ...row, agent_id }))))
  })
  const error = await asked.catch((fault: unknown) => fault)
  if (!(error instanceof EdgeError)) throw error
  t.equal(error.code, 926)
  t.match(error.message, /2000 agents need too many calls/)
  t.equal(calls, 2)
})

t.test('the calls that a read may take depend on the calls of a minute', async (t) => {
  const agents = Array.from({ length: 400 }, (_, at) => agent(String(at).padStart(3, '0'), [port(1)]))
  const request = edgeRequest('GET', PORTS, { query: { limit: '1000' } })
  const error = await ask(request, inventoryNode({ agents }), 5_000, 2).catch((fault: unknown) => fault)
  t.match(error, { code: 926 })
  t.match((await ask(request, inventoryNode({ agents }), 5_000, 4)).data, { totalItems: 400 })
  t.match((await ask(request, inventoryNode({ agents }), 5_000, 0)).data, { totalItems: 400 })
})

t.test('an error of the node is that of the read', async (t) => {
  const detail = 'Timeout executing API request'
  const body = Buffer.from(JSON.stringify({ title: 'Wazuh Internal Error', detail, error: 3021 }))
  const { status, json } = await ask(edgeRequest('GET', PORTS), ({ path }) =>
    path.startsWith('/agents') ? success([{ id: '000' }]) : { status: 500, type: 'application/problem+json', body },
  )
  t.equal(status, 200)
  t.same(json, { error: 3021, message: detail })
})

t.test('all rows are returned in the order of their agents', async (t) => {
  const request = edgeRequest('GET', PORTS, { query: { limit: '100' }, extent: 'allRows' })
  const { response, data } = await ask(request, inventoryNode({ agents: three }))
  if (response.kind === 'file' || response.origin.kind !== 'allRows') throw new Error('not all rows')
  const { items: rows, totalItems } = data as { items: Record<string, unknown>[]; totalItems: number }
  t.same(
    rows.map(({ agent_id }) => agent_id),
    ['000', '000', '001', '002', '002'],
  )
  t.same(rows[0], { scan: { id: 0 }, protocol: 'tcp', local: { port: 22 }, agent_id: '000' })
  t.equal(response.origin.fetchedParts, 1)
  t.equal(totalItems, 5)
})

t.test('more rows than may be collected are counted only', async (t) => {
  const request = edgeRequest('GET', PORTS, { query: { limit: '4' }, extent: 'allRows' })
  const { data } = await ask(request, inventoryNode({ agents: three }))
  t.same(data, { items: [], totalItems: 5 })
})
