import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { isWholeCluster } from '../../../src/join/first-page.ts'
import { joinCollections } from '../../../src/join/join-collections.ts'
import { readFromOwners } from '../../../src/join/read-from-owners.ts'
import { bodyOf, edgeRequest, jsonResponse, success } from '../../support/edge-requests.ts'
import { type ReferenceCollection, referencePage } from '../../support/reference-collection.ts'
import { isDistributing, viewOf } from './three-nodes.ts'

const names = ['master', 'worker-1', 'worker-2']
const ROWS = 2500
const LOGS: ReferenceCollection = { engine: 'array', order: '-timestamp' }
/** Two of them sort one way by code point and the other way by UTF-16 code unit. */
const MARKS = ['', 'Ω', '～', '😀', '\uffff', '\u{10ffff}']

interface Entry {
  readonly [field: string]: string
  readonly timestamp: string
  readonly tag: string
  readonly level: string
  readonly description: string
}

/** Many rows are equal in all fields except the last. */
function entries(node: string): readonly Entry[] {
  return Array.from({ length: ROWS }, (_, at) => ({
    timestamp: `2026-11-20 12:${String((at * 7) % 60).padStart(2, '0')}:00`,
    tag: `daemon-${(at * 13) % 11}`,
    level: ['info', 'error', 'warning'][at % 3] ?? '',
    description: `${MARKS[at % MARKS.length]}${node} ${at}`,
  }))
}

const all = new Map(names.map((node) => [node, entries(node)]))
/** The oracle sorts all rows for each page, so the pages of the nodes are computed once. */
const pages = new Map<string, EdgeResponse>()

function pageOf(node: string, query: EdgeRequest['query']): EdgeResponse {
  const key = JSON.stringify([node, query])
  const page = pages.get(key) ?? success(referencePage(all.get(node) ?? [], query, LOGS))
  pages.set(key, page)
  return page
}

type RespondTo = (part: EdgeRequest, node: string) => EdgeResponse | undefined

function nodes(respondTo: RespondTo = () => undefined) {
  const calls: string[] = []
  const read = joinCollections(
    {
      view: viewOf(names),
      read: async (part) => {
        const node = part.params.node_id ?? ''
        calls.push(`${node} ${part.query.offset ?? 0} ${part.query.sort ?? ''}`.trim())
        const response = respondTo(part, node)
        return response ?? pageOf(node, part.query)
      },
      owners: { allOwners: async () => new Map(), verifiedOwners: async () => new Map() },
      isDistributing,
      catalogue,
      limits: () => ({ timeout: 20_000, slowTimeout: 20_000, agentsPerCollection: 1000 }),
    },
    readFromOwners,
  )
  const logs = (query: EdgeRequest['query']) =>
    read(edgeRequest('GET /cluster/:node_ids/logs', { params: { node_ids: '*' }, query }))
  return { logs, calls }
}

/** What one node that held the rows of these nodes would return, with the name of the node in each row. */
function whole(query: EdgeRequest['query'], of = names) {
  const rows = of.flatMap((node) => (all.get(node) ?? []).map((row) => ({ node_name: node, ...row })))
  return referencePage(rows, query, LOGS)
}

t.test('nodes are asked for further pages only as far as the joined page reaches', async (t) => {
  for (const sort of ['-tag', 'level,tag', undefined]) {
    for (const offset of ['0', '1800', '5000', '7400', '7500']) {
      const { logs, calls } = nodes()
      const query = { offset, limit: '300', ...(sort !== undefined && { sort }) }
      t.strictSame(bodyOf(await logs(query)).data, whole(query), JSON.stringify(query))
      if (offset === '0') t.equal(calls.length, 3)
      if (offset === '7500') t.equal(calls.length, 3, 'behind the last row no node is asked for more')
    }
  }
})

t.test('texts of several nodes are sorted by code point, also across the surrogates', async (t) => {
  for (const sort of ['description', '-description']) {
    const { logs } = nodes()
    const items: unknown[] = []
    for (let offset = 0; offset < names.length * ROWS; offset += 1000) {
      const { data } = bodyOf(await logs({ sort, limit: '1000', offset: String(offset) }))
      items.push(...(data as { readonly items: readonly unknown[] }).items)
    }
    t.strictSame(items, whole({ sort, limit: '100000' }).items, sort)
  }
})

t.test('a node that fails to sort is asked without a sort, and the edge sorts its rows', async (t) => {
  const { logs, calls } = nodes((part, node) => {
    if (node !== 'worker-1' || part.query.sort === undefined) return undefined
    return jsonResponse({ error: 1000, message: 'Internal error' })
  })
  const query = { offset: '1000', limit: '300', sort: 'description' }
  t.strictSame(bodyOf(await logs(query)).data, whole(query))
  t.strictSame(
    calls.filter((call) => call.startsWith('worker-1')),
    ['worker-1 0 description', 'worker-1 0', 'worker-1 1000', 'worker-1 2000'],
  )
})

t.test('rows that a node returns unsorted are sorted by the edge', async (t) => {
  const { logs } = nodes((part, node) => {
    if (node !== 'worker-2') return undefined
    const { sort: _, ...query } = part.query
    return pageOf(node, query)
  })
  const query = { limit: '400', sort: 'description' }
  t.strictSame(bodyOf(await logs(query)).data, whole(query))
})

t.test('a node whose further page fails contributes no rows and is named in failed_nodes', async (t) => {
  const { logs } = nodes((part, node) => {
    if (node === 'worker-1' && part.query.offset !== undefined) throw new EdgeError(924, ' (worker-1: unreachable)')
    return undefined
  })
  const query = { offset: '4000', limit: '500', sort: '-tag' }
  const given = await logs(query)
  const { failed_nodes, ...data } = bodyOf(given).data as Record<string, unknown>
  t.strictSame(data, whole(query, ['master', 'worker-2']))
  t.match(failed_nodes, [{ node: 'worker-1', error: { code: 924 } }])
  const clusterStatus = /worker-1;rtt=\d+;error=connection_terminated;rows=0/
  t.match(given, { origin: { completeness: 'partial', clusterStatus } })
})

t.test('unreadable rows of one node do not affect the rows of others', async (t) => {
  const { logs } = nodes((_, node) => {
    if (node !== 'master') return undefined
    const body = Buffer.from('{"error":0,"data":{"items":[{"timestamp":"a"} {"timestamp":"b"}],"totalItems":2}}')
    return { ...success(''), body }
  })
  const given = await logs({ limit: '10' })
  t.match(bodyOf(given).data, { totalItems: 2 * ROWS, failed_nodes: [{ node: 'master', error: { code: 925 } }] })
})

t.test('mode manager: a page that is not full is whole whatever its total says, except for selected fields', (t) => {
  const pageWith = (count: number, total: number) => {
    const rows = { bytes: Buffer.alloc(0), from: 0, to: 0, ranges: new Uint32Array(), total, known: {} }
    return { page: rows, count, isWhole: count === total }
  }
  const inventory = (query: EdgeRequest['query'] = {}) => edgeRequest('GET /experimental/syscollector/ports', { query })
  t.ok(isWholeCluster(pageWith(6, 8), inventory()))
  t.ok(isWholeCluster(pageWith(900, 1500), inventory()), 'the rows of the master count twice')
  t.notOk(isWholeCluster(pageWith(1000, 1500), inventory()), 'a full page')
  t.ok(isWholeCluster(pageWith(6, 8), inventory({ select: 'protocol' })))
  t.notOk(
    isWholeCluster(pageWith(6, 1500), inventory({ select: 'protocol' })),
    'equal rows of a full page were dropped',
  )
  t.end()
})
