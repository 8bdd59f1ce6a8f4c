import t from 'tap'
import { exampleOf } from '../../../packages/reference/src/example.ts'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { startEdge } from '../../support/edge.ts'

interface Explained {
  readonly endpoint: string
  readonly cacheable: boolean
  readonly next: { readonly hit: boolean; readonly reason: string }
}

const reads = catalogue.filter(({ method }) => method === 'GET')
const groups = [
  ...new Set(
    reads.flatMap((endpoint) => ('cache' in endpoint && 'group' in endpoint.cache ? [endpoint.cache.group] : [])),
  ),
]

/** The `Cache-Status` of the next request for each reason. */
const cacheStatusOf: Readonly<Record<string, RegExp>> = {
  'never stored': /^(?!.*(?:hit|stored|ttl))/,
  'not stored': /; fwd=uri-miss; stored/,
  fresh: /; hit; ttl=[1-9]/,
  'stale, served while it is refreshed': /; hit; ttl=\S+; detail=stale-while-revalidate/,
  'stale, never served': /; fwd=stale; stored/,
  // The cache does not handle requests for fenced data.
  'a write to the data is in progress, or its outcome is unknown': /^$/,
}

/** Errors of the manager are never stored and have no Cache-Status. */
/** The OpenAPI document has no field `error`. */
const isError = (text: string): boolean => ((JSON.parse(text) as { error?: number }).error ?? 0) !== 0

t.test('explain predicts the Cache-Status of the next request, for each GET endpoint', async (t) => {
  const simulator = await startSimulator({ workers: 1, agents: 10, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      access: { limits: { requestsPerSecond: 100_000 } },
      // No entry becomes stale by age during the test.
      cache: { ttl: Object.fromEntries(groups.map((group) => [group, '10m'])), endpoints: {} },
    },
  })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin') }
  const send = async (path: string, method = 'GET') => {
    const response = await fetch(edge.url + path, { method, headers })
    return { status: response.status, cache: response.headers.get('cache-status') ?? '', text: await response.text() }
  }

  /** Compares prediction and response for each GET endpoint. Returns how often each reason was predicted. */
  async function compare(state: string): Promise<Map<string, number>> {
    const reasons = new Map<string, number>()
    for (const endpoint of reads) {
      const { url } = exampleOf(endpoint)
      const prediction = await send(`/cache/explain?url=${encodeURIComponent(url)}`)
      const explained = (JSON.parse(prediction.text) as { data: Explained }).data
      const { status, cache, text } = await send(url)
      const name = `${endpoint.path} ${state}: ${explained.next.reason}, then ${cache}`
      t.equal(explained.endpoint, `GET ${endpoint.path}`)
      t.equal(status, 200, name)
      t.equal(explained.next.hit, /; hit\b/.test(cache), name)
      t.match(cache, isError(text) ? /^$/ : cacheStatusOf[explained.next.reason], name)
      reasons.set(explained.next.reason, (reasons.get(explained.next.reason) ?? 0) + 1)
    }
    return reasons
  }

  const cold = await compare('cold')
  t.strictSame([...cold.keys()].sort(), ['never stored', 'not stored'])
  const never = cold.get('never stored') ?? 0
  const stored = reads.length - never
  t.ok(stored > 60 && never > 10, `${stored} may be stored, ${never} never`)

  const warm = await compare('warm')
  t.equal(warm.get('never stored'), never)
  const fresh = warm.get('fresh') ?? 0
  // The simulated cluster returns an error for some of them, which is not stored.
  t.ok(fresh > 0.9 * stored, `${fresh} of ${stored} are fresh`)

  t.equal((await send('/cache?soft=true', 'DELETE')).status, 200)
  const stale = await compare('stale')
  const servedOnceMore = stale.get('stale, served while it is refreshed') ?? 0
  const neverStale = stale.get('stale, never served') ?? 0
  t.equal(servedOnceMore + neverStale, fresh, 'after a soft purge each stored response is of one of two kinds')
  t.ok(neverStale > 5 && servedOnceMore > 50, `${servedOnceMore} are served once more, ${neverStale} are never stale`)

  await compare('warm again')
  // The outcome of this write is unknown, so its tags stay fenced.
  await simulator.faults.set('master', { reset: true, only: ({ method }) => method === 'PUT' })
  t.equal((await send('/agents/restart', 'PUT')).status, 502)
  const fenced = await compare('fenced')
  t.ok(
    (fenced.get('a write to the data is in progress, or its outcome is unknown') ?? 0) > 5,
    'entries that the write invalidates are fenced',
  )
  t.ok((fenced.get('fresh') ?? 0) > 10, 'other entries are fresh')
})
