/** Responses of three real nodes about themselves, joined into one collection in which every item names its node. */
import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { answerOf, type Collection, collectionOf, nodeNames, type Row, startThreeNodes } from './three-nodes.ts'

const nodes = await startThreeNodes(t)
const edge = await startEdge({ nodes, settings: { cluster: { distribution: 'edge', discover: false } } })
t.teardown(() => edge.close())

async function send(path: string): Promise<{ data: Collection; status: string }> {
  const response = await fetch(`${edge.url}${path}`, { headers: { authorization: edge.authorization('admin') } })
  const body = (await response.json()) as { error: number; data: Collection & { failed_nodes?: unknown } }
  if (body.error !== 0 || body.data.failed_nodes !== undefined) throw new Error(`${path}: ${JSON.stringify(body)}`)
  return { data: body.data, status: response.headers.get('cluster-status') ?? '' }
}

t.test('whole responses become one item per node, master first', async (t) => {
  const parts = ['info', 'status', 'configuration', 'logs/summary', 'stats/hourly', 'stats/remoted', 'stats/analysisd']
  for (const part of [...parts, 'config/analysis/global', 'config/com/internal']) {
    const { data } = await send(`/cluster/*/${part}`)
    const expected = nodeNames.map((node) => ({ node_name: node, ...dataOf(node, `/manager/${part}`) }))
    t.same(data, { items: expected, totalItems: 3 }, part)
  }
})

t.test('lists contain the elements of each node', async (t) => {
  for (const part of ['stats', 'stats/weekly']) {
    const { data } = await send(`/cluster/*/${part}?limit=1000`)
    const expected = nodeNames.flatMap((node) => elementsOf(node, `/manager/${part}`))
    t.same(data.items, expected.slice(0, 1000), part)
    t.equal(data.totalItems, expected.length, part)
  }
})

t.test('logs are one list over all nodes, newest first, with pages', async (t) => {
  const all = nodeNames.flatMap((node) => logsOf(node)).toSorted((a, b) => compare(b, a))
  const { data } = await send('/cluster/*/logs?limit=1000')
  t.same(data.items, all)
  t.equal(data.totalItems, 150)
  const pages: Row[] = []
  for (let offset = 0; offset < 150; offset += 40) {
    pages.push(...(await send(`/cluster/*/logs?offset=${offset}&limit=40`)).data.items)
  }
  t.same(pages, all)
})

t.test('two nodes can be named, and Cluster-Status lists them', async (t) => {
  const { data, status } = await send('/cluster/worker-2,master/info')
  t.same(
    data.items.map(({ node_name }) => node_name),
    ['master', 'worker-2'],
  )
  t.match(status, /^master;[^,]*rows=1, worker-2;[^,]*rows=1$/)
})

t.test('every call was recorded on a real node', (t) => {
  for (const { name, unknown } of nodes) t.same(unknown, [], name)
  t.end()
})

function dataOf(node: string, path: string): Row {
  return (answerOf(node, path) as { data: Row }).data
}

function elementsOf(node: string, path: string): Row[] {
  const { data } = answerOf(node, path) as { data: unknown }
  const elements = Array.isArray(data) ? data : [data]
  return elements.map((one) => ({ node_name: node, ...one }))
}

function logsOf(node: string): Row[] {
  return collectionOf(node, '/manager/logs?limit=50').items.map((row) => ({ node_name: node, ...row }))
}

function compare(a: Row, b: Row): number {
  const [x, y] = [String(a.timestamp), String(b.timestamp)]
  return x < y ? -1 : x > y ? 1 : 0
}
