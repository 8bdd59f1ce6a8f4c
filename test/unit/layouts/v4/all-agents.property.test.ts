/** Any page of the rows of all agents is the one that a filter, a sort and a cut of all their rows give. */
import fc from 'fast-check'
import t from 'tap'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { compare, type InventoryAgent, inventoryNode, type Port } from './inventory-node.ts'
import { ask } from './recorded.ts'

const PORTS = '/experimental/syscollector/ports'
const NODES = ['master', 'worker-1', 'worker-2']

const port: fc.Arbitrary<Port> = fc.record(
  {
    scan_id: fc.nat({ max: 2 }),
    protocol: fc.constantFrom('tcp', 'udp', 'TCP'),
    local_port: fc.nat({ max: 5 }),
    state: fc.constantFrom('listening', 'established'),
  },
  { requiredKeys: ['scan_id', 'protocol', 'local_port'] },
)

const agents: fc.Arbitrary<InventoryAgent[]> = fc
  .array(
    fc.record(
      { node: fc.constantFrom(...NODES), ports: fc.array(port, { maxLength: 4 }), hasNoDatabase: fc.boolean() },
      { requiredKeys: ['node', 'ports'] },
    ),
    { maxLength: 150 },
  )
  .map((some) => some.map((rest, at) => ({ id: String(at).padStart(3, '0'), ...rest })))

const sort = fc.record({
  sign: fc.constantFrom('', '+', '-'),
  fields: fc.uniqueArray(fc.constantFrom('scan_id', 'protocol', 'local_port', 'state'), { maxLength: 3 }),
})

const wanted = fc.record(
  {
    offset: fc.nat({ max: 80 }),
    limit: fc.integer({ min: 1, max: 40 }),
    sort,
    state: fc.constantFrom('listening', 'established'),
    q: fc.constantFrom('local_port>2', 'protocol=tcp;local_port<4', 'state=listening,local_port=0'),
  },
  { requiredKeys: ['limit'] },
)

type Wanted = typeof wanted extends fc.Arbitrary<infer T> ? T : never

interface OwnPort extends Port {
  readonly agent: number
}

/** All rows of the agents, then one step after the other. */
function naivePage(
  some: readonly InventoryAgent[],
  lostNodes: readonly string[],
  { offset = 0, limit, ...asked }: Wanted,
) {
  const all = some
    .filter(({ node, hasNoDatabase }) => !hasNoDatabase && !lostNodes.includes(node))
    .flatMap(({ id, ports }) => ports.map((row): OwnPort => ({ ...row, agent: Number(id) })))
  const found = all
    .filter(({ state }) => asked.state === undefined || state === asked.state)
    .filter((row) => asked.q === undefined || CONDITIONS[asked.q]?.(row))
  const { sign = '', fields = [] } = asked.sort ?? {}
  const by = fields.length > 0 ? fields : (['scan_id'] as const)
  found.sort((a, b) => {
    for (const field of by) {
      const order = compare(a[field], b[field])
      if (order !== 0) return sign === '-' ? -order : order
    }
    return a.agent - b.agent
  })
  const page = found.slice(offset, offset + limit)
  return { page: page.map((row) => [row.agent, ...by.map((field) => row[field])]), total: found.length, by }
}

const CONDITIONS: Readonly<Record<string, (port: Port) => boolean>> = {
  'local_port>2': ({ local_port }) => local_port > 2,
  'protocol=tcp;local_port<4': ({ protocol, local_port }) => protocol.toLowerCase() === 'tcp' && local_port < 4,
  'state=listening,local_port=0': ({ state, local_port }) => state === 'listening' || local_port === 0,
}

interface Item {
  readonly agent_id: string
  readonly scan?: { readonly id: number }
  readonly local?: { readonly port: number }
  readonly protocol?: string
  readonly state?: string
}

t.test('pages equal those of a naive join', async (t) => {
  const lost = fc.subarray(NODES.slice(1))
  await fc.assert(
    fc.asyncProperty(agents, lost, wanted, fc.boolean(), async (some, lostNodes, asked, selects) => {
      const { page, total, by } = naivePage(some, lostNodes, asked)
      const { sort: order, offset, limit, ...rest } = asked
      const query = {
        limit: String(limit),
        ...rest,
        ...(offset !== undefined && { offset: String(offset) }),
        ...(order && { sort: `${order.sign}${order.fields.join(',')}` }),
        ...(selects && { select: 'protocol,scan_id,local_port,state' }),
      }
      const lists: string[][] = []
      const { data } = await ask(
        edgeRequest('GET', PORTS, { query }),
        inventoryNode({ agents: some, lostNodes, lists }),
      )
      const { items, totalItems, failed_nodes } = data as {
        items: Item[]
        totalItems: number
        failed_nodes?: unknown[]
      }
      const fieldOf = (item: Item, field: keyof Port) =>
        field === 'scan_id' ? item.scan?.id : field === 'local_port' ? item.local?.port : item[field]
      const rows = items.map((item) => [Number(item.agent_id), ...by.map((field) => fieldOf(item, field))])
      const lostWithAgents = lostNodes.filter((node) => some.some((agent) => agent.node === node))
      const differs =
        JSON.stringify([rows, totalItems]) !== JSON.stringify([page, total]) ||
        (failed_nodes ?? []).length !== lostWithAgents.length
      if (differs) throw new Error(`${JSON.stringify([rows, totalItems])} instead of ${JSON.stringify([page, total])}`)
    }),
    { numRuns: 300 },
  )
  t.pass('300 reads')
})
