import t from 'tap'
import { joinedCluster, statusOf } from './cluster.ts'

for (const distribution of ['edge', 'manager'] as const) {
  t.test(`mode ${distribution}: responses of all nodes become one collection`, async (t) => {
    const { get, simulator } = await joinedCluster(t, { distribution })
    const names = simulator.nodes.map(({ name }) => name)
    for (const part of [
      'info',
      'status',
      'logs/summary',
      'stats/hourly',
      'stats/weekly',
      'stats/remoted',
      'configuration',
    ]) {
      const given = await get(`/cluster/*/${part}`)
      const single = await Promise.all(names.map((name) => get(`/cluster/${name}/${part}`)))
      const items = single.map(({ body }, at) => ({ ...(body.data as object), node_name: names[at] }))
      t.strictSame(given.body, { error: 0, data: { items, totalItems: 3 } }, part)
      t.strictSame(Object.keys(given.body.data.items[0] ?? {})[0], 'node_name', 'node_name is the first member')
    }
    const stats = await get('/cluster/worker-1,worker-2/stats')
    const own = await Promise.all(['worker-1', 'worker-2'].map((name) => get(`/cluster/${name}/stats`)))
    const hours = own.map(({ body }) => body.data as unknown as readonly object[])
    t.equal(stats.body.data.totalItems, hours.flat().length, 'elements of lists become items')
    t.same(new Set(stats.body.data.items.map(({ node_name }) => node_name)), new Set(['worker-1', 'worker-2']))
    const { body } = await get('/cluster/*/files?path=etc/ossec.conf')
    t.match(body.data.items[2], { node_name: 'worker-2', contents: /ossec_config/ })
    t.match(await get('/cluster/*/configuration/validation'), { body: { data: { items: [{ status: 'OK' }, {}, {}] } } })
    t.strictSame(simulator.thrown, [])
  })
}

t.test('offset, limit, sort and search apply to the joined collection', async (t) => {
  const { get } = await joinedCluster(t)
  const names = async (query: string) => {
    const { body } = await get(`/cluster/*/info?${query}`)
    return body.error === 0 ? body.data.items.map(({ node_name }) => node_name) : body.error
  }
  t.strictSame(await names('sort=-node_name'), ['worker-2', 'worker-1', 'master'])
  t.strictSame(await names('sort=-'), ['worker-2', 'worker-1', 'master'])
  t.strictSame(await names('sort=cluster.node_type,node_name&offset=1'), ['worker-1', 'worker-2'])
  t.strictSame(await names('search=worker-2'), ['worker-2'])
  t.strictSame(await names('limit=1&offset=2'), ['worker-2'])
  t.strictSame(await names('offset=9'), [])
  t.equal(await names('sort=unknown_field'), 1403)
})

t.test('logs of all nodes are sorted together, page by page', async (t) => {
  const { get, simulator } = await joinedCluster(t)
  type Entry = Readonly<Record<string, string>>
  const own = await Promise.all(
    simulator.nodes.map(async ({ name }) => {
      const { body } = await get(`/cluster/${name}/logs?limit=1000`)
      return body.data.items.map((row) => ({ node_name: name, ...row }) as Entry)
    }),
  )
  const all = own.flat()
  t.ok(all.length > 100)
  const byTime = all.toSorted((a, b) => compare(b.timestamp, a.timestamp))
  const items: unknown[] = []
  for (let offset = 0; offset < all.length; offset += 37) {
    const { body } = await get(`/cluster/*/logs?limit=37&offset=${offset}`)
    t.equal(body.data.totalItems, all.length)
    items.push(...body.data.items)
  }
  t.strictSame(items, byTime)
  const byNode = await get('/cluster/*/logs?sort=-node_name,timestamp&limit=1000')
  const expected = all.toSorted((a, b) => compare(b.node_name, a.node_name) || compare(b.timestamp, a.timestamp))
  t.strictSame(byNode.body.data.items, expected.slice(0, 1000))
  const byLevel = await get('/cluster/*/logs?sort=level,node_name&limit=1000')
  const levels = all.toSorted((a, b) => compare(a.level, b.level) || compare(a.node_name, b.node_name))
  const keys = (rows: readonly Entry[]) => rows.map(({ level, node_name }) => `${level} ${node_name}`)
  t.strictSame(keys(byLevel.body.data.items as readonly Entry[]), keys(levels).slice(0, 1000))
  t.match((await get('/cluster/*/logs?sort=nothing')).body, { error: 1403 })
})

t.test('an unknown node is a failed node; with unknown nodes only, the response is an error', async (t) => {
  const { get } = await joinedCluster(t)
  const given = await get('/cluster/worker-1,worker-9/info')
  t.match(given.body, {
    error: 0,
    data: { items: [{ node_name: 'worker-1' }], failed_nodes: [{ node: 'worker-9', error: { code: 3022 } }] },
  })
  t.strictSame(statusOf(given), { 'worker-1': 'rtt;rows=1', 'worker-9': 'error=destination_not_found' })
  t.match(await get('/cluster/worker-8,worker-9/info'), { status: 200, body: { error: 3022 } })
})

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}
