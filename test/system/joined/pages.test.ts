import t from 'tap'
import { allRows, expected, joinedCluster, type Kind, kinds, pathOf } from './cluster.ts'

const windows = [{}, { sort: '-scan_id', limit: '7', offset: '3' }, { limit: '1', offset: '20' }, { offset: '100000' }]

for (const distribution of ['edge', 'manager'] as const) {
  t.test(`mode ${distribution}: collections of all kinds are those of one node that holds all rows`, async (t) => {
    const { simulator, get } = await joinedCluster(t, { distribution, agents: 12 })
    for (const kind of kinds) {
      // In mode manager the rows of a worker itself cannot be read one by one: such responses name the workers.
      const whole = allRows(simulator, kind)
      const whose = distribution === 'manager' && whole.length > 1000
      const rows = (whose ? allRows(simulator, kind, true) : whole).map((row) =>
        distribution === 'manager' && !whose ? withoutNode(row) : row,
      )
      for (const query of windows) {
        const { body } = await get(`${pathOf(kind)}?${new URLSearchParams(query)}`)
        const { failed_nodes, ...data } = body.data
        const label = `${kind} ${JSON.stringify(query)}`
        if (distribution === 'edge') t.strictSame(data, expected(rows, query), label)
        else t.strictSame(sorted(data, query), sorted(expected(rows, query), query), label)
        t.equal(failed_nodes?.length, whose ? 2 : undefined, label)
      }
    }
    t.strictSame(simulator.thrown, [])
  })
}

t.test('pages are disjoint and together complete, for any sort and limit', async (t) => {
  const { simulator, get } = await joinedCluster(t, { agents: 9 })
  const queries: readonly (readonly [Kind, Readonly<Record<string, string>>])[] = [
    ['processes', { sort: 'name' }],
    ['processes', { sort: '-name,pid' }],
    ['packages', { sort: '-size' }],
    ['packages', { sort: 'vendor,name', search: 'lib' }],
    ['packages', { select: 'name,version' }],
    ['packages', { select: 'name', sort: '-scan_time', architecture: 'amd64' }],
    ['netiface', { sort: 'mtu' }],
    ['ports', { sort: '-local_port', protocol: 'tcp' }],
  ]
  for (const [kind, query] of queries) {
    const all = expected(allRows(simulator, kind), { ...query, limit: '1000' })
    const items: unknown[] = []
    for (let offset = 0; offset < Math.min(all.totalItems, 1000); offset += 173) {
      const page = { ...query, offset: String(offset), limit: String(Math.min(173, 1000 - offset)) }
      const { body } = await get(`${pathOf(kind)}?${new URLSearchParams(page)}`)
      t.equal(body.data.totalItems, all.totalItems, 'the total is the same on every page')
      items.push(...body.data.items)
    }
    t.ok(items.length > 5, `${kind} ${JSON.stringify(query)}: ${items.length} of ${all.totalItems}`)
    t.strictSame(items, all.items)
  }
})

t.test('a page at offset 10,000 is as correct as the first', async (t) => {
  const { simulator, getComplete } = await joinedCluster(t, { agents: 150 })
  const rows = allRows(simulator, 'packages')
  t.ok(rows.length > 10_000, `${rows.length} rows`)
  const deep = { offset: '10000', limit: '300', sort: 'name' }
  const { body } = await getComplete(`${pathOf('packages')}?${new URLSearchParams(deep)}`)
  t.strictSame(body.data, expected(rows, deep))
})

t.test('the filter agent_id, which nodes do not support, is answered agent by agent', async (t) => {
  const { simulator, get, asked } = await joinedCluster(t, { agents: 12 })
  for (const kind of ['os', 'hardware', 'packages', 'ciscat'] as const) {
    const rows = allRows(simulator, kind).filter(({ agent_id }) => ['000', '004', '005'].includes(String(agent_id)))
    const query = { sort: '-scan_id', search: kind === 'os' ? 'linux' : 'a' }
    const { body } = await get(`${pathOf(kind)}?${new URLSearchParams({ ...query, agent_id: '4,000,5,9999' })}`)
    t.strictSame(body, { error: 0, data: expected(rows, query) }, kind)
  }
  t.strictSame(asked('/experimental'), [])
})

t.test('invalid parameters have the error of a node', async (t) => {
  const { get } = await joinedCluster(t, { agents: 6 })
  const wrong = async (query: string) => (await get(`/experimental/syscollector/os?${query}`)).body
  t.strictSame(await wrong('sort=nothing'), { error: 1403, message: 'Sort field invalid' })
  t.match(await wrong('select=nothing'), { error: 1724 })
  t.match(await wrong('q=nothing=1'), { error: 1408 })
  t.match(await wrong('q=nothing=1&agent_id=001'), { error: 1408 })
})

function withoutNode({ node_name: _, ...row }: Readonly<Record<string, unknown>>) {
  return row
}

/** The manager returns rows with equal keys in another order. */
function sorted(data: { readonly items: readonly object[]; readonly totalItems: number }, query: object) {
  return Object.hasOwn(query, 'limit')
    ? data.totalItems
    : { ...data, items: data.items.map((row) => JSON.stringify(row)).sort() }
}
