/** How full Redis and the local tier are: in the metrics, in the console, and as problems. */
import t from 'tap'
import type { Capacity } from '../../../packages/console/server/cache-types.ts'
import type { Problems } from '../../../src/status/problem-types.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { simulated } from '../../support/simulated.ts'
import { together } from '../../support/together.ts'

const MB = 1 << 20
/** Redis is asked every 15 s. */
const times = { capacityInterval: 300 }

/** Both at once: each waits for what replicas observe every few seconds. */
const test = together(t, 2)

test('a Redis that is nearly full and evicts nothing is a problem until it has room', async (t) => {
  const redis = await startRedis({ args: ['--maxmemory', '20mb', '--maxmemory-policy', 'noeviction'] })
  t.teardown(() => redis.close())
  const client = redis.client()
  for (let at = 0; at < 17; at += 1) await client.set(`edge:filler:${at}`, 'x'.repeat(MB - 100))
  const settings = { replica: { name: 'here' }, cache: { redis: { url: redis.url } } }
  const { edge } = await simulated(t, { workers: 0, agents: 3 }, { settings, times })
  const headers = { authorization: edge.authorization('admin') }
  const get = (path: string) => fetch(edge.operationsUrl + path, { headers })
  const body = async <Body>(path: string) => (await (await get(path)).json()) as Body
  const samples = async () => samplesOf(await (await get('/metrics')).text())
  const kinds = async () => (await body<Problems>('/api/problems')).problems.map(({ kind }) => kind)

  await (await fetch(`${edge.url}/agents`, { headers })).text()
  await eventually(async () => (await kinds()).includes('redisNearlyFull'))
  const { problems } = await body<Problems>('/api/problems')
  t.match(problems, [{ kind: 'redisNearlyFull', severity: 'warning', detail: /maxmemory \(20 MiB\).*noeviction/ }])
  const verbose = await fetch(`${edge.operationsUrl}/readyz?verbose`)
  t.equal(verbose.status, 200)
  t.match(await verbose.json(), { degraded: [{ reason: 'redisNearlyFull' }] })
  const scraped = await samples()
  t.equal(sumOf(scraped, 'edge_degraded', { reason: 'redisNearlyFull' }), 1)
  t.ok(sumOf(scraped, 'edge_redis_memory_bytes') > 17 * MB)
  t.equal(sumOf(scraped, 'edge_redis_memory_limit_bytes', { policy: 'noeviction' }), 20 * MB)
  t.equal(sumOf(scraped, 'edge_redis_evictions_total', { reason: 'limit' }), 0)
  t.equal(sumOf(scraped, 'edge_cache_local_evictions_total', { reason: 'limit' }), 0)
  t.match(await body<Capacity>('/api/capacity'), {
    replicas: [{ name: 'here', local: { limit: 64 * MB, evictions: { limit: 0 } } }],
    redis: { memory: { limit: 20 * MB, policy: 'noeviction' } },
  })

  await client.config('SET', 'maxmemory', '40mb')
  await eventually(async () => !(await kinds()).includes('redisNearlyFull'), 60_000)
  const { redis: now } = await body<Capacity>('/api/capacity')
  t.match(now, { memory: { limit: 40 * MB }, entries: 1 }, 'the stored response is counted')
  t.equal(sumOf(await samples(), 'edge_redis_entries'), 1)
})

test('while Redis is unreachable, its metrics are absent', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = { cache: { redis: { url: redis.url } } }
  const { edge } = await simulated(t, { workers: 0, agents: 3 }, { settings, times })
  const headers = { authorization: edge.authorization('admin') }
  const metrics = async () => (await fetch(`${edge.operationsUrl}/metrics`, { headers })).text()
  const lines = async () => (await metrics()).match(/^edge_redis_(?:memory|evictions|entries)\w*/gm) ?? []
  // There is no maxmemory.
  const known = [
    'edge_redis_memory_bytes',
    'edge_redis_evictions_total',
    'edge_redis_evictions_total',
    'edge_redis_entries',
  ]
  await eventually(async () => (await lines()).length > 0)
  t.strictSame(await lines(), known)
  await redis.kill()
  await eventually(async () => (await lines()).length === 0, 60_000)
  t.match(await metrics(), /^edge_redis_up 0$/m)
})
