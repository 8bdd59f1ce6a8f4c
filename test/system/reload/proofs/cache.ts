/** Settings of the cache. */
import type { Test } from 'tap'
import type { cacheGroups } from '../../../../src/config/schema.ts'
import { type RedisServer, startRedis } from '../../../support/redis.ts'
import { samplesOf, sumOf } from '../../../support/scrape.ts'
import type { Reloadable } from '../edge.ts'
import { answer, answerTo, OK, type Proof, unique } from '../proof.ts'

interface CacheConfig {
  readonly data: { readonly defaultDuration: number }
}

/** Observes whether a fetched response is fresh for more than 70 seconds. */
const isFreshForLong =
  (path: string): Proof['observe'] =>
  async ({ get }) => {
    const response = await get(`${path}${path.includes('?') ? '&' : '?'}pretty`, { 'cache-control': 'no-cache' })
    const body = await response.text()
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${body.slice(0, 200)}`)
    return Number(/ttl=(\d+)/.exec(response.headers.get('cache-status') ?? '')?.[1]) > 70
  }

const pathOfGroup: Readonly<Record<(typeof cacheGroups)[number], string>> = {
  agents: '/agents',
  summary: '/summary/agents',
  manager: '/manager/status',
  cluster: '/cluster/worker-1/logs',
  rules: '/rules',
  decoders: '/decoders',
  lists: '/lists',
  syscheck: '/syscheck/001',
  rootcheck: '/rootcheck/001',
  sca: '/sca/001',
  syscollector: '/syscollector/001/packages',
  ciscat: '/ciscat/001/results',
  validation: '/manager/configuration/validation',
}

/** Returns the Cache-Status of a read. */
async function cacheStatus({ get }: Reloadable, path: string): Promise<string> {
  const response = await get(path)
  const body = await response.text()
  const status = response.headers.get('cache-status')
  if (response.status !== 200 || status === null) throw new Error(`${path}: ${response.status} ${body.slice(0, 200)}`)
  return status
}

/** The lease of the local tier, and some more. */
const LEASE_MS = 3000

/** Observes whether a stored response is served when Redis has been unreachable for longer than a lease. */
const isHitWithoutRedis: Proof['observe'] = async (edge) => {
  await cacheStatus(edge, '/rules?limit=3')
  await redis.kill()
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS))
  const response = await edge.get('/rules?limit=3')
  await response.text()
  return `${response.headers.get('cache-status')}`.includes('hit')
}

/** Observes how many calls the nodes get for one path that is fetched once and read again ten times. */
const callsOfHits: Proof['observe'] = async (edge) => {
  const path = `/rules?search=${unique()}`
  await cacheStatus(edge, path)
  const from = edge.simulator.seen.length
  for (let count = 0; count < 10; count += 1) await cacheStatus(edge, path)
  // A comparison starts with its hit, so its call arrives before the call of a later miss at the same node.
  await cacheStatus(edge, `/rules?search=${unique()}`)
  return edge.simulator.seen.slice(from).some(({ url }) => url.startsWith(path))
}

/** Observes whether the third of three new queries is answered from a snapshot that was built for them. */
const hasSnapshot: Proof['observe'] = async (edge) => {
  // A write to the agents: the snapshot of before is not used.
  await fetch(`${edge.edge.url}/agents/001/group/default`, {
    method: 'PUT',
    headers: { authorization: edge.edge.authorization('admin') },
  })
  for (const limit of [101, 102]) await cacheStatus(edge, `/agents?limit=${limit}`)
  return (await cacheStatus(edge, '/agents?limit=103')).includes('detail=snapshot')
}

let redis: RedisServer
const startWithRedis = async (t: Test) => {
  redis = await startRedis()
  t.teardown(() => redis.close())
  return { settings: { cache: { redis: { url: redis.url } } } }
}

export const proofs: readonly Proof[] = [
  {
    changes: { 'cache.defaultTtl': '42s' },
    before: 750,
    after: 42_000,
    observe: async ({ get }) => ((await (await get('/cache/config')).json()) as CacheConfig).data.defaultDuration,
  },
  ...Object.entries(pathOfGroup).map(
    ([group, path]): Proof => ({
      changes: { [`cache.ttl.${group}`]: '90s', 'cache.endpoints': {} },
      before: false,
      after: true,
      observe: isFreshForLong(path),
    }),
  ),
  {
    changes: { 'cache.ttl.agents': '0s' },
    before: true,
    after: false,
    observe: async ({ get }) => {
      const path = '/agents?select=id'
      await (await get(path)).arrayBuffer()
      const second = await get(path)
      await second.arrayBuffer()
      return second.headers.get('cache-status')?.includes('hit') ?? false
    },
  },
  {
    changes: { 'cache.endpoints': { '/manager/info': '90s' } },
    before: false,
    after: true,
    observe: isFreshForLong('/manager/info'),
  },
  {
    start: startWithRedis,
    changes: { 'cache.writesWithoutRedis': 'sendAndRiskStaleReads' },
    before: [503, 930],
    after: OK,
    isFinal: true,
    observe: async (edge) => {
      await redis.kill()
      return answerTo('PUT', '/agents/groups/new-group')(edge)
    },
  },
  {
    start: startWithRedis,
    changes: { 'cache.withoutRedis': 'stale' },
    before: false,
    after: true,
    isFinal: true,
    observe: isHitWithoutRedis,
  },
  {
    start: startWithRedis,
    changes: { 'replica.only': true },
    before: false,
    after: true,
    isFinal: true,
    observe: isHitWithoutRedis,
  },
  {
    start: { settings: { cache: { ttl: { agents: '1ms' } } } },
    changes: { 'cache.staleWhileRevalidate': { agents: '60s' } },
    before: false,
    after: true,
    observe: async (edge) => {
      await cacheStatus(edge, '/agents?select=id')
      return (await cacheStatus(edge, '/agents?select=id')).includes('stale-while-revalidate')
    },
  },
  {
    start: { settings: { cache: { ttl: { agents: '1ms' } } } },
    changes: { 'cache.staleIfError': '0s' },
    before: OK,
    after: [502, 924],
    observe: async (edge) => {
      const path = `/agents?search=${unique()}`
      await cacheStatus(edge, path)
      for (const { name } of edge.simulator.nodes) await edge.simulator.faults.set(name, { reset: true })
      try {
        return await answer(() => path)(edge)
      } finally {
        await edge.simulator.faults.clear()
      }
    },
  },
  {
    start: { settings: { cache: { ttl: { agents: '1ms' }, staleIfError: '0s' } } },
    changes: { 'cache.outage': '1h' },
    before: [502, 924],
    after: OK,
    observe: async (edge) => {
      const path = `/agents?search=${unique()}`
      await cacheStatus(edge, path)
      for (const { name } of edge.simulator.nodes) await edge.simulator.faults.set(name, { reset: true })
      try {
        return await answer(() => path)(edge)
      } finally {
        await edge.simulator.faults.clear()
      }
    },
  },
  {
    changes: { 'cache.replicationLag': '0s' },
    before: [502, 924],
    after: OK,
    observe: async (edge) => {
      const body = '<group name="one,"><rule id="100001" level="3"><description>one</description></rule></group>'
      const upload = answerTo('POST', '/manager/files?path=etc/rules/one.xml&overwrite=true', {
        body,
        type: 'application/xml',
      })
      await upload(edge)
      // A worker could answer, but it may not have the new rule yet.
      await edge.simulator.faults.set('master', { apiDown: true })
      try {
        return await answer(() => `/rules?search=${unique()}`)(edge)
      } finally {
        await edge.simulator.faults.clear()
      }
    },
  },
  {
    start: { settings: { cache: { divergenceCheck: { sampleRatio: 0, maxPerSecond: 1000 } } } },
    changes: { 'cache.divergenceCheck.sampleRatio': 1 },
    before: false,
    after: true,
    observe: callsOfHits,
  },
  {
    start: { settings: { cache: { divergenceCheck: { sampleRatio: 1, maxPerSecond: 0 } } } },
    changes: { 'cache.divergenceCheck.maxPerSecond': 1000 },
    before: false,
    after: true,
    observe: callsOfHits,
  },
  ...Object.entries({ groups: ['rules'], maxRows: 1, maxBytes: '1B', localBytes: '1B' }).map(
    ([name, value]): Proof => ({
      changes: { [`cache.snapshots.${name}`]: value },
      before: true,
      after: false,
      observe: hasSnapshot,
    }),
  ),
  {
    changes: { 'cache.localBytes': '1MiB' },
    before: true,
    after: false,
    observe: async (edge) => {
      // Entries beyond the bound are evicted when others are stored.
      for (let offset = 0; offset < 10; offset += 1) {
        await (await edge.get(`/rules?limit=1000&offset=${offset}`, { 'cache-control': 'no-cache' })).arrayBuffer()
      }
      return sumOf(samplesOf(await edge.operations('/metrics')), 'edge_cache_local_bytes') > 1024 * 1024
    },
  },
]
