import t from 'tap'
import { cacheOperations, disabledCache } from '../../../src/cache/operations.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import type { CacheIndex } from '../../../src/core/cache-index.ts'
import type { CacheEvent } from '../../../src/core/events.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import {
  bodyOf,
  cacheStatusOf,
  caller,
  edgeRequest,
  lifetimes,
  ManualClock,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

const agent = (id: string) => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })

async function cacheWithEntries() {
  const clock = new ManualClock()
  const store = createMemoryStore({ bytes: () => 1 << 20, elapsed: clock.read })
  const { cache, nodes, read, write } = replica({ store, clock: clock.read })
  nodes.respond = async () => {
    clock.advance(200)
    return success('x'.repeat(100))
  }
  const resolved: { url: string; by: string }[] = []
  const operations = cacheOperations({
    index: store,
    enabled: true,
    defaultDuration: () => 750,
    lifetimesOf: () => lifetimes,
    sharedThroughRedis: false,
    explained: {
      ...cache.explained,
      catalogue,
      isNode: (name) => ['m', 'worker-1'].includes(name),
      resolveUrl: async (url, by) => {
        resolved.push({ url, by: by.name })
        if (url === '/agents/001/key') return edgeRequest('GET /agents/:agent_id/key', { params: { agent_id: '001' } })
        return url === '/rules' ? edgeRequest('GET /rules') : agent('001')
      },
    },
  })
  const get = async (operation: keyof typeof operations, rest: Partial<EdgeRequest> = {}) =>
    bodyOf(await operations[operation](edgeRequest('GET /cache', rest)))
  await read(agent('001'))
  await read(agent('002'))
  await read(edgeRequest('GET /rules', { query: { limit: '5' } }))
  return { clock, store, nodes, read, write, operations, get, resolved }
}

t.test('the index and the configuration have the shapes of the seed', async (t) => {
  const { get } = await cacheWithEntries()
  t.strictSame(await get('cacheIndex'), {
    error: 0,
    data: {
      all: ['/agents/001', '/agents/002', '/rules?limit=5&offset=0&status=all'],
      groups: { agents: ['/agents/001', '/agents/002'], rules: ['/rules?limit=5&offset=0&status=all'] },
    },
  })
  const config = { debug: false, defaultDuration: 750, enabled: true, appendKey: [], jsonp: false, redisClient: false }
  const { groups, endpoints, ...v3 } = (await get('cacheConfig')).data as Record<string, unknown>
  t.strictSame(v3, config, 'the fields of the real API stay')
  t.type(groups, 'object')
  t.type(endpoints, 'object')
  const off = cacheOperations(disabledCache)
  t.strictSame(bodyOf(await off.cacheIndex(edgeRequest('GET /cache'))).data, { all: [], groups: {} })
  t.strictSame(bodyOf(await off.cacheClear(edgeRequest('DELETE /cache'))).data, { all: [], groups: {} })
  t.equal(disabledCache.index.purgeCount(), 0, 'nothing of the purge is kept')
  t.match(bodyOf(await off.cacheExplain(edgeRequest('GET /cache/explain', { query: { url: '/' } }))).data, {
    cacheable: false,
  })
})

t.test('DELETE returns what is still stored', async (t) => {
  const { get, read } = await cacheWithEntries()
  t.strictSame((await get('cacheClearGroup', { params: { group: 'nope' } })).data, (await get('cacheIndex')).data)
  const left = {
    all: ['/rules?limit=5&offset=0&status=all'],
    groups: { rules: ['/rules?limit=5&offset=0&status=all'] },
  }
  t.strictSame((await get('cacheClearGroup', { params: { group: 'agents' } })).data, left)
  t.match(cacheStatusOf(await read(agent('001'))), { fwd: 'uri-miss' })
  t.strictSame((await get('cacheClear')).data, { all: [], groups: {} })
})

t.test('DELETE with a key removes one response', async (t) => {
  const { get, read, store } = await cacheWithEntries()
  const key = (await store.list()).find(({ url }) => url === '/agents/001')?.key ?? ''
  t.match((await get('cacheClear', { query: { key } })).data, { all: ['/agents/002', /^\/rules/] })
  t.match(cacheStatusOf(await read(agent('002'))), { hit: true })
  t.match(cacheStatusOf(await read(agent('001'))), { fwd: 'uri-miss' })
})

t.test('preview reports what would be removed, and removes nothing', async (t) => {
  const { get, store } = await cacheWithEntries()
  const size = (await store.list('rules'))[0]?.size ?? 0
  t.ok(size > 100)
  const all = (await get('cacheClear', { query: { preview: 'true' } })).data
  t.match(all, { entries: 3, seconds: 0.6 })
  const group = await get('cacheClearGroup', { params: { group: 'rules' }, query: { preview: 'true', soft: 'true' } })
  t.strictSame(group.data, { entries: 1, bytes: size, seconds: 0.2, neverStale: { entries: 0 } })
  const key = (await store.list('rules'))[0]?.key ?? ''
  t.match((await get('cacheClear', { query: { preview: 'true', key } })).data, { entries: 1 })
  t.equal((await store.list()).length, 3)
})

t.test('preview counts the entries that a soft purge cannot mark as stale', async (t) => {
  const { get, read } = await cacheWithEntries()
  await read(edgeRequest('GET /manager/status'))
  await read(edgeRequest('GET /cluster/healthcheck'))
  t.match((await get('cacheClear', { query: { preview: 'true', soft: 'true' } })).data, {
    entries: 5,
    neverStale: { entries: 2 },
  })
})

t.test('a soft purge marks as stale: served while it is refreshed', async (t) => {
  const { get, read, nodes } = await cacheWithEntries()
  t.match((await get('cacheClearGroup', { params: { group: 'agents' }, query: { soft: 'true' } })).data, {
    groups: { agents: ['/agents/001', '/agents/002'] },
  })
  t.match(cacheStatusOf(await read(agent('001'))), { hit: true, detail: 'stale-while-revalidate' })
  await settle()
  t.equal(nodes.calls, 4)
  t.match(cacheStatusOf(await read(agent('001'))), { hit: true, ttl: Number })
})

t.test('details are a collection that can be sorted, searched, filtered and paged', async (t) => {
  const { get, clock, read } = await cacheWithEntries()
  clock.advance(100)
  await read(agent('002'))
  const details = async (query: Record<string, string>) => {
    const { data } = await get('cacheIndex', { query: { details: 'true', ...query } })
    return data as { items: Record<string, unknown>[]; totalItems: number }
  }
  const urls = async (query: Record<string, string>) => (await details(query)).items.map(({ url }) => url)
  t.match((await details({})).items[1], {
    url: '/agents/002',
    group: 'agents',
    endpoint: '/agents/:agent_id',
    scope: 'everyone',
    tags: ['cache', 'cache:agents', 'cache:/agents/:agent_id', 'agent:*', 'agent:002'],
    age: 500,
    hits: 1,
    fetchTime: 200,
    timeLeft: Number,
    size: Number,
    key: /^[\w-]{43}$/,
  })
  t.strictSame(await urls({ sort: '-hits', limit: '1' }), ['/agents/002'])
  t.strictSame(await urls({ sort: '+age', limit: '1' }), ['/rules?limit=5&offset=0&status=all'])
  t.strictSame(await urls({ search: '001' }), ['/agents/001'])
  t.strictSame(await urls({ group: 'rules' }), ['/rules?limit=5&offset=0&status=all'])
  t.strictSame(await urls({ tag: 'agent:002' }), ['/agents/002'])
  t.strictSame(await urls({ endpoint: '/agents/:agent_id' }), ['/agents/001', '/agents/002'])
  t.equal((await details({ offset: '1', limit: '1' })).totalItems, 3)
  t.match(await get('cacheIndex', { query: { details: 'true', sort: 'nothing' } }), { error: 1403 })
})

t.test('explain tells hit or miss, the reason, and the writes that invalidate the response', async (t) => {
  const { get, resolved, write, clock, store } = await cacheWithEntries()
  const explain = async (url: string) => (await get('cacheExplain', { query: { url } })).data as Record<string, unknown>
  const fresh = await explain('/agents/1')
  t.match(fresh, {
    endpoint: 'GET /agents/:agent_id',
    cacheable: true,
    url: '/agents/001',
    key: /^[\w-]{43}$/,
    group: 'agents',
    scope: 'everyone',
    tags: ['cache', 'cache:agents', 'cache:/agents/:agent_id', 'agent:*', 'agent:001'],
    next: { hit: true, reason: 'fresh', age: Number, timeLeft: Number },
  })
  t.strictSame(resolved, [{ url: '/agents/1', by: caller.name }])
  const invalidating = fresh.invalidatedBy as { write: string; tags: string[]; when?: string[] }[]
  const writes = invalidating.map(({ write }) => write)
  t.ok(writes.includes('PUT /agents/:agent_id/group/:group_id'))
  t.ok(writes.includes('PUT /cluster/restart'), 'a write to all agents')
  t.notOk(writes.includes('PUT /syscheck/:agent_id'))
  t.match(
    invalidating.find(({ write }) => write === 'POST /agents'),
    { tags: ['agent:{answer.id}', 'agent:*'] },
  )
  t.match(await explain('/agents/001/key'), { cacheable: false, reason: 'an agent key', next: { hit: false } })
  const rules = await explain('/rules')
  t.match(rules, { next: { hit: false, reason: 'not stored' } })
  t.match(
    (rules.invalidatedBy as { write: string; when?: string[] }[]).find(({ write }) => write === 'POST /manager/files'),
    { when: ['query.path matches ^etc/rules/', /ossec/] },
  )
  t.strictSame(
    (await store.list()).map(({ hits }) => hits),
    [0, 0, 0],
    'explain counts no hit',
  )
  clock.advance(1200)
  t.match(await explain('/agents/001'), { next: { hit: true, reason: /stale/ } })
  clock.advance(5000)
  t.match(await explain('/agents/001'), { next: { hit: false, reason: /nodes fail/ } })
  await write(edgeRequest('PUT /agents/restart'))
  t.match(await explain('/agents/001'), { next: { hit: false, reason: /write/ } })
})

t.test('a group or key that no response can have is not purged and counts as no invalidation', async (t) => {
  const purged: unknown[] = []
  const events: CacheEvent[] = []
  const store = createMemoryStore({ bytes: () => 1 << 20 })
  const index: CacheIndex = {
    ...store,
    purge: async (what) => {
      purged.push(what)
      return 'done'
    },
  }
  const operations = cacheOperations({ ...disabledCache, index, onEvent: (event) => void events.push(event) })
  for (const group of ['nope', '__proto__', 'agents ', '']) {
    const response = await operations.cacheClearGroup(edgeRequest('DELETE /cache/:group', { params: { group } }))
    t.match(bodyOf(response), { error: 0, data: { all: [], groups: {} } })
  }
  await operations.cacheClear(edgeRequest('DELETE /cache', { query: { key: 'no-digest' } }))
  t.strictSame(purged, [])
  t.strictSame(events, [])
  await operations.cacheClearGroup(edgeRequest('DELETE /cache/:group', { params: { group: 'agents' } }))
  const key = 'x'.repeat(43)
  await operations.cacheClear(edgeRequest('DELETE /cache', { query: { key } }))
  t.strictSame(purged, [
    { group: 'agents', soft: false },
    { keys: [key], soft: false },
  ])
  t.strictSame(events, [
    { kind: 'invalidated', cause: 'purgeGroup' },
    { kind: 'invalidated', cause: 'purgeKey' },
  ])
})

t.test('the name of a group is matched without case, as paths are', async (t) => {
  const { get, read } = await cacheWithEntries()
  t.match((await get('cacheClearGroup', { params: { group: 'RULES' }, query: { preview: 'true' } })).data, {
    entries: 1,
  })
  t.match((await get('cacheClearGroup', { params: { group: 'AGENTS' } })).data, { groups: { agents: undefined } })
  t.match(cacheStatusOf(await read(agent('001'))), { fwd: 'uri-miss' })
})

t.test('a part of a joined response is explained by the name of its node', async (t) => {
  const { get } = await cacheWithEntries()
  const explain = (url: string) => get('cacheExplain', { query: { url } })
  t.match((await explain('/agents#worker%2D1')).data, { url: '/agents/001#worker-1' })
  await t.rejects(explain('/agents#%zz'), { code: 604, status: 400 }, 'malformed percent-encoding')
  await t.rejects(explain('/agents#no-such-node'), { code: 3022 }, 'a node that does not exist')
  await t.rejects(explain('/agents#'), { code: 3022 }, 'no name')
  await t.rejects(explain('/agents#worker-1#worker-1'), { code: 604 }, 'two names')
})
