import t from 'tap'
import { exampleOf } from '../../../src/admin/openapi/example.ts'
import { catalogue } from '../../../src/catalogue/index.ts'
import { startSimulator } from '../../../src/simulator/index.ts'
import { startEdge } from '../../support/edge.ts'

interface Explained {
  readonly endpoint: string
  readonly kept: boolean
  readonly next: { readonly hit: boolean; readonly reason: string }
}

const reads = catalogue.filter(({ method }) => method === 'GET')
const groups = [
  ...new Set(
    reads.flatMap((endpoint) => ('cache' in endpoint && 'group' in endpoint.cache ? [endpoint.cache.group] : [])),
  ),
]

/** What the next request has to say for each reason. */
const means: Readonly<Record<string, RegExp>> = {
  'never kept': /^(?!.*(?:hit|stored|ttl))/,
  'nothing is kept': /; fwd=uri-miss; stored/,
  fresh: /; hit; ttl=[1-9]/,
  'stale, served while fetched anew': /; hit; ttl=\S+; detail=stale-while-revalidate/,
  'stale, served only when nodes fail': /; fwd=stale/,
  // Under a fence the cache stands aside, and says nothing.
  'a write to the data is under way, or its outcome is unknown': /^$/,
}

/** An error of the manager is never kept: the cache has nothing to say of it either. */
const isError = (text: string): boolean => (JSON.parse(text) as { error?: number }).error !== 0

t.test('what explain foretells of a GET is what its Cache-Status says next', async (t) => {
  const simulator = await startSimulator({ workers: 1, agents: 10, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      access: { limits: { requests: 100_000 } },
      // Nothing runs out while this test runs.
      cache: { durations: Object.fromEntries(groups.map((group) => [group, '10m'])), endpoints: {} },
    },
  })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin') }
  const ask = async (path: string, method = 'GET') => {
    const answer = await fetch(edge.url + path, { method, headers })
    return { status: answer.status, cache: answer.headers.get('cache-status') ?? '', text: await answer.text() }
  }

  /** For each GET: foretold, asked for, compared. Gives how often each reason was foretold. */
  async function compare(state: string): Promise<Map<string, number>> {
    const reasons = new Map<string, number>()
    for (const endpoint of reads) {
      const { url } = exampleOf(endpoint)
      const said = await ask(`/cache/explain?url=${encodeURIComponent(url)}`)
      const explained = (JSON.parse(said.text) as { data: Explained }).data
      const { status, cache, text } = await ask(url)
      const name = `${endpoint.path} ${state}: ${explained.next.reason}, then ${cache}`
      t.equal(explained.endpoint, `GET ${endpoint.path}`)
      t.equal(status, 200, name)
      t.equal(explained.next.hit, /; hit\b/.test(cache), name)
      t.match(cache, isError(text) ? /^$/ : means[explained.next.reason], name)
      reasons.set(explained.next.reason, (reasons.get(explained.next.reason) ?? 0) + 1)
    }
    return reasons
  }

  const cold = await compare('cold')
  t.strictSame([...cold.keys()].sort(), ['never kept', 'nothing is kept'])
  const never = cold.get('never kept') ?? 0
  const kept = reads.length - never
  t.ok(kept > 60 && never > 10, `${kept} are kept, ${never} never`)

  const warm = await compare('warm')
  t.equal(warm.get('never kept'), never)
  const fresh = warm.get('fresh') ?? 0
  // The simulated cluster answers some with an error, which is never kept.
  t.ok(fresh > 0.9 * kept, `${fresh} of ${kept} are fresh`)

  t.equal((await ask('/cache?soft=true', 'DELETE')).status, 200)
  const stale = await compare('stale')
  t.ok((stale.get('stale, served while fetched anew') ?? 0) > 10, 'groups that are served stale')
  t.ok((stale.get('stale, served only when nodes fail') ?? 0) > 10, 'and those that are not')

  await compare('warm again')
  // Nobody knows whether it acted: what it touches stays fenced.
  await simulator.faults.set('master', { reset: true, only: ({ method }) => method === 'PUT' })
  t.equal((await ask('/agents/restart', 'PUT')).status, 502)
  const fenced = await compare('fenced')
  t.ok((fenced.get('a write to the data is under way, or its outcome is unknown') ?? 0) > 5, 'what it touches')
  t.ok((fenced.get('fresh') ?? 0) > 10, 'and what it leaves alone')
})
