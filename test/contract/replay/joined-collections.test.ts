/**
 * Joined collections have every row of every node once, in order and with the right total, also where the real cluster
 * loses rows.
 */
import t from 'tap'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { type Collection, collectionOf, nodeNames, type Row, startThreeNodes } from './three-nodes.ts'

const WHOLE = ['hardware', 'os', 'netaddr', 'netproto', 'netiface', 'ports'].map((name) => `syscollector/${name}`)
const FAMILIES = [...WHOLE, 'ciscat/results'].map((name) => `/experimental/${name}`)

const nodes = await startThreeNodes(t)
const edge = await startEdge({ nodes, settings: { cluster: { distribution: 'edge', discover: false } } })
t.teardown(() => edge.close())

t.test('each collection is complete', async (t) => {
  for (const path of FAMILIES) {
    const joined = await collection(edge, `${path}?limit=1000`)
    const expected = expectedRows(path)
    t.same(joined.items, expected, path)
    t.equal(joined.totalItems, expected.length, path)
  }
})

t.test('pages are disjoint and together complete, with the same total', async (t) => {
  for (const path of FAMILIES) {
    const expected = expectedRows(path)
    for (const limit of [1, 2, 3, 5]) {
      const pages: Row[] = []
      for (let offset = 0; offset < expected.length + limit; offset += limit) {
        const page = await collection(edge, `${path}?offset=${offset}&limit=${limit}`)
        t.equal(page.totalItems, expected.length)
        pages.push(...page.items)
      }
      t.same(pages, expected, `${path} by ${limit}`)
    }
  }
})

t.test('no row is lost where the real cluster lost rows', async (t) => {
  for (const path of WHOLE.map((name) => `/experimental/${name}`)) {
    const real = collectionOf('master', `${path}?offset=2&limit=3`, 'manager')
    const joined = await collection(edge, `${path}?offset=2&limit=3`)
    const expected = expectedRows(path)
    t.same(joined.items, expected.slice(2, 5), path)
    t.equal(joined.totalItems, expected.length)
    t.same(real.items, [], 'the real cluster returned nothing')
  }
})

t.test('sorting works in both directions', async (t) => {
  const path = '/experimental/syscollector/netaddr'
  for (const sign of ['', '-']) {
    const joined = await collection(edge, `${path}?sort=${sign}address&limit=1000`)
    const expected = expectedRows(path, (row) => String(row.address), sign === '-' ? -1 : 1)
    t.same(joined.items, expected, `sort=${sign}address`)
  }
})

t.test('three thousand packages are readable, of which the real cluster returns only the first thousand', async (t) => {
  const path = '/experimental/syscollector/packages'
  const expected = expectedRows(path)
  t.equal(expected.length, 3_000)
  const pages: Row[] = []
  for (let offset = 0; offset < 3_500; offset += 500) {
    const page = await collection(edge, `${path}?offset=${offset}&limit=500`)
    t.equal(page.totalItems, 3_000)
    pages.push(...page.items)
  }
  t.ok(JSON.stringify(pages.map(ordered)) === JSON.stringify(expected.map(ordered)), 'all of them, in order')
  const last = await collection(edge, `${path}?sort=-name&offset=2990&limit=10`)
  const down = expectedRows(path, ({ name }) => String(name), -1)
  t.same(last.items, down.slice(-10))
  t.equal(collectionOf('master', `${path}?limit=1000`, 'manager').items.length, 1_000)
})

t.test('every call was recorded on a real node', (t) => {
  for (const { name, unknown } of nodes) t.same(unknown, [], name)
  t.end()
})

async function collection({ url, authorization }: RunningEdge, path: string): Promise<Collection> {
  const response = await fetch(`${url}${path}`, { headers: { authorization: authorization('admin') } })
  const body = (await response.json()) as { error: number; data: Collection & { failed_nodes?: unknown } }
  if (body.error !== 0 || body.data.failed_nodes !== undefined) throw new Error(`${path}: ${JSON.stringify(body)}`)
  return body.data
}

/** Returns the rows of the three nodes by scan; equal rows in the order of the nodes, then in their own order. */
function expectedRows(path: string, key: (row: Row) => string | number = scanOf, sign = 1): Row[] {
  const rows = nodeNames.flatMap((node) => {
    return collectionOf(node, `${path}?limit=1000`).items.map((row) => {
      return row.agent_id === '000' ? { node_name: node, ...row } : row
    })
  })
  // A stable sort preserves the order of equal rows.
  return rows.toSorted((a, b) => {
    const [x, y] = [key(a), key(b)]
    return sign * (x < y ? -1 : x > y ? 1 : 0)
  })
}

/** Real nodes write the fields of a row in any order. */
function ordered(row: Row): unknown[] {
  return Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))
}

function scanOf({ scan }: Row): number {
  return (scan as { id: number }).id
}
