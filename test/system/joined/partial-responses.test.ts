import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { allRows, expected, joinedCluster, statusOf } from './cluster.ts'

const OS = '/experimental/syscollector/os'

t.test('a failed node is named, the others contribute, and the partial response is not stored', async (t) => {
  const { get, simulator, asked } = await joinedCluster(t)
  const whole = allRows(simulator, 'os')
  await simulator.faults.set('worker-1', { refuse: true })
  const given = await get(OS)
  t.equal(given.status, 200)
  const { failed_nodes, ...data } = given.body.data
  t.match(failed_nodes, [{ node: 'worker-1', error: { code: 924, message: /worker-1: connection refused/ } }])
  t.strictSame(data, expected(rowsWithout(whole, simulator, 'worker-1'), {}))
  t.match(statusOf(given), {
    master: /^rtt;rows=\d+$/,
    'worker-1': 'error=connection_refused',
    'worker-2': /^rtt;rows=\d+$/,
  })
  t.equal(given.headers.get('etag'), null, 'clients must not store it')
  const index = (await get('/cache')).body as unknown as { readonly data: { readonly all: readonly string[] } }
  t.notOk(index.data.all.includes(`${OS}?limit=500&offset=0`))
  t.ok(index.data.all.includes(`${OS}?limit=1000&offset=0#master`), 'the parts of the others are stored')

  await simulator.faults.clear()
  simulator.seen.length = 0
  await eventually(async () => (await get(OS)).body.data.failed_nodes === undefined)
  t.strictSame((await get(OS)).body.data, expected(whole, {}))
  const calls = asked(OS).map(({ node }) => node)
  t.strictSame(calls, ['worker-1'], 'one call completed the response')
})

t.test('a joined response from the cache has the Cluster-Status of the first one', async (t) => {
  const { get, asked, edge } = await joinedCluster(t, { cache: { snapshots: { groups: [] } } })
  const first = await get(OS)
  const second = await get(OS)
  t.match(first.headers.get('cache-status'), /fwd=uri-miss; stored/)
  t.match(second.headers.get('cache-status'), /hit/)
  t.ok(first.headers.get('cluster-status'))
  t.equal(second.headers.get('cluster-status'), first.headers.get('cluster-status'))
  const etag = second.headers.get('etag') ?? ''
  // With this header `fetch` adds Cache-Control: no-cache, which only callers with the purge permission are granted.
  const same = await get(OS, { 'if-none-match': etag, authorization: edge.authorization('reader') })
  t.match(same, { status: 304 })
  t.equal(same.headers.get('cluster-status'), first.headers.get('cluster-status'))
  const other = await get(`${OS}?sort=-os_name&limit=2`)
  t.match(Object.values(statusOf(other)), [/^hit;rows=\d$/, /^hit;rows=\d$/, /^hit;rows=\d$/], 'from the same parts')
  t.equal(asked(OS).length, 3, 'each node was called once')
  const { body } = await get('/cache?details=true&search=syscollector/os')
  const listed = body.data.items.map(({ url }) => String(url))
  t.ok(listed.includes(`${OS}?limit=1000&offset=0#worker-1`), 'each part has the name of its node')
  const line = encodeURIComponent(`${OS}?limit=1000#worker-1`)
  const explained = await get(`/cache/explain?url=${line}`)
  t.match(explained.body.data, { url: /#worker-1$/, next: { hit: true }, tags: /node:worker-1/ })
})

t.test('a stale part replaces that of an unreachable node, and Cluster-Status shows it', async (t) => {
  const { get, simulator } = await joinedCluster(t, {
    cache: { ttl: { syscollector: '300ms' }, staleWhileRevalidate: { syscollector: '0ms' } },
  })
  const whole = expected(allRows(simulator, 'os'), {})
  await get(OS)
  await simulator.faults.set('worker-2', { reset: true })
  let stale = await get(OS)
  await eventually(async () => {
    stale = await get(OS)
    return /^rtt;detail=stale-if-error\/9\d\d;rows=\d+$/.test(statusOf(stale)['worker-2'] ?? '')
  })
  t.strictSame(stale.body.data, whole)
  t.notMatch(stale.headers.get('cache-status') ?? '', /stored/)
})

t.test('if all nodes fail, the response is the error of the first one', async (t) => {
  const { get, simulator } = await joinedCluster(t)
  await Promise.all(simulator.nodes.map(({ name }) => simulator.faults.set(name, { error: 1017 })))
  const ready = await get(OS)
  t.match(ready, { status: 200, body: { error: 1017 } })
  t.match(statusOf(ready), { 'worker-1': 'error=destination_unavailable;received-status=200;detail="1017"' })
  await Promise.all(simulator.nodes.map(({ name }) => simulator.faults.set(name, { html: true })))
  const page = await get('/experimental/syscollector/netproto')
  t.match(page, { status: 502, body: { error: 925, message: /master/ } })
  t.match(statusOf(page), { master: 'error=http_protocol_error' })
})

for (const [fault, word] of [
  [{ refuse: true }, 'connection_refused'],
  [{ reset: true }, 'connection_terminated'],
  [{ truncate: 30 }, 'http_response_incomplete'],
  [{ html: true }, 'http_protocol_error'],
  [{ status: 500 }, 'http_protocol_error'],
  [{ stall: true }, 'http_response_timeout'],
  [{ error: 1000 }, 'http_protocol_error;received-status=200;detail="1000"'],
] as const) {
  t.test(`${JSON.stringify(fault)} on a worker is reported with the error type of RFC 9209`, async (t) => {
    const { get, simulator } = await joinedCluster(t, { cluster: { limits: { timeout: '1s' } } })
    await simulator.faults.set('worker-1', fault)
    for (const path of [OS, '/cluster/*/info', '/cluster/*/logs?limit=5']) {
      const given = await get(path)
      t.match(given.body.data.failed_nodes, [{ node: 'worker-1' }], path)
      // After several failures the node is ejected.
      const expected = path === OS ? [`error=${word}`] : [`error=${word}`, 'error=destination_unavailable']
      t.ok(expected.includes(statusOf(given)['worker-1'] ?? ''), `${path}: ${statusOf(given)['worker-1']}`)
    }
  })
}

function rowsWithout(rows: ReturnType<typeof allRows>, simulator: Parameters<typeof allRows>[0], node: string) {
  return rows.filter(({ node_name, agent_id }) => {
    return (node_name ?? simulator.world.agents.get(String(agent_id))?.node) !== node
  })
}
