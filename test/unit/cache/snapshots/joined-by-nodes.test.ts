/** Where nodes join the rows of all agents, a page costs less than all rows, so clients wait for pages only. */
import t from 'tap'
import { collect } from '../../../../packages/simulator/src/data/collect.ts'
import { parseCollectionRequest } from '../../../../src/collections/request.ts'
import { sources } from '../../../../src/collections/sources.ts'
import { NO_PARTS } from '../../../../src/core/origins.ts'
import { bodyOf, cacheStatusOf, edgeRequest, success } from '../../../support/edge-requests.ts'
import { buildingReplica, settings } from './collection-node.ts'

const PORTS = 'GET /experimental/syscollector/ports'

function portsOf(count: number) {
  return Array.from({ length: count }, (_, at) => ({
    scan: { id: 0 },
    protocol: at % 2 === 0 ? 'tcp' : 'udp',
    local: { port: (at * 7919) % 65_536 },
    agent_id: String(at % 100).padStart(3, '0'),
  }))
}

/** A replica in front of a node that returns a page, or all rows at once. */
function portsReplica(count: number) {
  const rows = portsOf(count)
  const calls: string[] = []
  const edge = buildingReplica({
    settings: { snapshots: { ...settings, groups: ['syscollector'] } },
    nodeReads: () => ({ rowsPerCall: 1000, joinsAgents: true, convertsRows: true }),
  })
  edge.nodes.respond = ({ query, extent }) => {
    calls.push(extent === 'allRows' ? 'all' : 'page')
    if (extent === 'allRows') {
      const origin = { ...NO_PARTS, kind: 'allRows', fetchedParts: 2 } as const
      return { ...success({ items: rows, totalItems: rows.length }), origin }
    }
    const flat = rows.map(({ scan, local, ...row }) => ({ ...row, scan_id: scan.id, local_port: local.port }))
    return success(
      collect(flat, parseCollectionRequest(query, new Date()), { ...sources.ports, alwaysSelected: ['agent_id'] }),
    )
  }
  const get = (query: Readonly<Record<string, string>>) => edge.read(edgeRequest(PORTS, { query }))
  return { ...edge, calls, get }
}

t.test('the first page is read alone', async (t) => {
  const { calls, get } = portsReplica(3000)
  await get({ limit: '2' })
  t.same(calls, ['page'])
})

t.test('pages that are wanted often are computed from all rows, which are read in the background', async (t) => {
  const { calls, get, settleBuild } = portsReplica(3000)
  for (const offset of ['1', '2', '3', '4']) await get({ limit: '1', offset })
  await settleBuild()
  t.equal(calls.filter((call) => call === 'all').length, 1)
  const before = calls.length
  const page = await get({ sort: '-local_port', limit: '2', select: 'local_port' })
  t.equal(calls.length, before)
  t.match(cacheStatusOf(page), { hit: true, detail: 'snapshot' })
  const { data } = bodyOf(page) as { data: { items: { local: { port: number } }[]; totalItems: number } }
  t.equal(data.totalItems, 3000)
  t.ok((data.items[0]?.local.port ?? 0) >= (data.items[1]?.local.port ?? 0))
})

t.test('a page is read if all rows cannot be', async (t) => {
  const edge = portsReplica(500)
  const { respond } = edge.nodes
  edge.nodes.respond = (request, call) => {
    if (request.extent !== 'allRows') return respond(request, call)
    edge.calls.push('all')
    return success({ items: [], totalItems: 200_000 })
  }
  for (const offset of ['1', '2', '3']) {
    const { data } = bodyOf(await edge.get({ limit: '1', offset })) as { data: { totalItems: number } }
    t.equal(data.totalItems, 500)
    await edge.settleBuild()
  }
  t.ok(edge.calls.filter((call) => call === 'all').length <= 1, 'and all rows are not tried again')
})
