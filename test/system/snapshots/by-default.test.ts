import t, { type Test } from 'tap'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { simulated } from '../../support/simulated.ts'

/** All rows stay fresh during the test. */
const ttl = { agents: '10m', rules: '10m' }

async function start(t: Test, cache: object = {}) {
  const { edge, simulator } = await simulated(t, { agents: 20 }, { settings: { cache: { ttl, ...cache } } })
  const headers = { authorization: edge.authorization('admin') }
  const statusOf = async (path: string) => {
    const response = await fetch(edge.url + path, { headers })
    await response.arrayBuffer()
    return response.headers.get('cache-status') ?? ''
  }
  const calls = (path: string) => simulator.seen.map(({ url }) => url).filter((url) => url.startsWith(path))
  const operations = (path: string) => fetch(edge.operationsUrl + path, { headers })
  return { statusOf, calls, operations }
}

t.test('with the default settings, the third query of a collection needs no call', async (t) => {
  const { statusOf, calls, operations } = await start(t)
  t.match(await statusOf('/agents?limit=1'), /fwd=uri-miss/)
  t.strictSame(calls('/agents?'), ['/agents?limit=1'], 'the first query goes to the node as it is')
  t.match(await statusOf('/agents?limit=2'), /fwd=uri-miss; .*detail=snapshot/)
  t.strictSame(calls('/agents?'), ['/agents?limit=1', '/agents?limit=1000'])
  t.match(await statusOf('/agents?limit=3&sort=-id'), /hit; .*detail=snapshot/)
  t.equal(calls('/agents?').length, 2)

  const samples = samplesOf(await (await operations('/metrics')).text())
  t.equal(sumOf(samples, 'edge_cache_snapshots'), 1)
  t.equal(sumOf(samples, 'edge_cache_snapshot_rows'), 21)
  t.equal(sumOf(samples, 'edge_cache_snapshot_queries_total', { group: 'agents' }), 1)
  t.equal(sumOf(samples, 'edge_cache_snapshot_build_calls_total', { group: 'agents' }), 1)
  t.equal(sumOf(samples, 'edge_cache_requests_total', { group: 'agents', status: 'hit' }), 1)
  t.match(await (await operations('/api/groups')).json(), {
    snapshots: [{ url: '/agents#*', group: 'agents', rows: 21, queries: 1, calls: 1 }],
  })
})

t.test('a group that is not listed has no snapshots', async (t) => {
  const { statusOf, calls } = await start(t, { snapshots: { groups: ['rules'] } })
  for (const limit of [1, 2, 3]) {
    t.notMatch(await statusOf(`/agents?limit=${limit}`), /snapshot/)
    await statusOf(`/rules?limit=${limit}`)
  }
  t.equal(calls('/agents?').length, 3)
  t.equal(calls('/rules?').length, 2)
})
