import t from 'tap'
import { cacheOperations } from '../../../src/cache/operations.ts'
import { purgeScopeOf } from '../../../src/cache/purge.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import type { CacheIndex } from '../../../src/core/cache-index.ts'
import type { CacheEvent } from '../../../src/core/events.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import { bodyOf, cacheStatusOf, edgeRequest, lifetimes, replica, success } from '../../support/edge-requests.ts'

const agent = (id: string) => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })
const agents = edgeRequest('GET /agents', { query: { limit: '5' } })

/** `index`: methods in place of those of the store. */
async function cacheWithAgents(index: Partial<CacheIndex> = {}) {
  const store = createMemoryStore({ bytes: () => 1 << 20 })
  const { nodes, read } = replica({ store })
  nodes.respond = async () => success('x')
  const events: CacheEvent[] = []
  const operations = cacheOperations({
    index: { ...store, ...index },
    enabled: true,
    defaultDuration: () => 750,
    lifetimesOf: () => lifetimes,
    sharedThroughRedis: false,
    onEvent: (event) => void events.push(event),
  })
  for (const request of [agents, agent('001'), agent('002')]) await read(request)
  const stored = async () => (await store.list()).map(({ url }) => url).sort()
  const purge = async (query: EdgeRequest['query']) =>
    operations.cacheClear(edgeRequest('DELETE /cache', { query, returnMinimal: true }))
  return { store, read, events, stored, purge }
}

t.test('a purge by tag removes all responses with the tag, and no other', async (t) => {
  const { purge, read, stored, events } = await cacheWithAgents()
  t.match(bodyOf(await purge({ tag: 'agent:001', preview: 'true' })).data, { entries: 1, neverStale: { entries: 0 } })
  t.equal((await stored()).length, 3, 'a preview removes nothing')
  await purge({ tag: 'agent:001' })
  t.strictSame(await stored(), ['/agents/002', '/agents?limit=5&offset=0'])
  t.match(cacheStatusOf(await read(agent('001'))), { fwd: 'uri-miss' })
  t.strictSame(events, [{ kind: 'invalidated', cause: 'purgeTag' }])
  await purge({ tag: 'agent:*' })
  t.strictSame(await stored(), ['/agents?limit=5&offset=0'], 'the tag of a family is that of all its members')
})

t.test('a purge by endpoint removes the responses of that route only', async (t) => {
  const { purge, read, stored, events } = await cacheWithAgents()
  t.match(bodyOf(await purge({ endpoint: '/agents/:agent_id', preview: 'true' })).data, { entries: 2 })
  await purge({ endpoint: '/agents/:agent_id' })
  t.strictSame(await stored(), ['/agents?limit=5&offset=0'])
  t.match(cacheStatusOf(await read(agent('002'))), { fwd: 'uri-miss' })
  t.match(cacheStatusOf(await read(agents)), { hit: true })
  t.strictSame(events, [{ kind: 'invalidated', cause: 'purgeEndpoint' }])
})

t.test('a soft purge by tag or endpoint marks as stale', async (t) => {
  for (const name of [{ tag: 'agent:001' }, { endpoint: '/agents/:agent_id' }]) {
    const { purge, read } = await cacheWithAgents()
    await purge({ ...name, soft: 'true' })
    t.match(cacheStatusOf(await read(agent('001'))), { hit: true, detail: 'stale-while-revalidate' })
    t.match(cacheStatusOf(await read(agents)), { hit: true, ttl: Number, detail: undefined })
  }
})

t.test('several keys are purged at once', async (t) => {
  const { purge, store, stored } = await cacheWithAgents()
  const keys = (await store.list()).filter(({ endpoint }) => endpoint !== '/agents').map(({ key }) => key)
  t.match(bodyOf(await purge({ key: keys.join(','), preview: 'true' })).data, { entries: 2 })
  await purge({ key: [...keys, 'no-digest'].join(',') })
  t.strictSame(await stored(), ['/agents?limit=5&offset=0'])
})

t.test('a name that no response can have is an error, and nothing is purged', async (t) => {
  const { purge, stored, events } = await cacheWithAgents()
  const refused = [
    { tag: 'agents:001' },
    { tag: 'agent' },
    { tag: 'key:x' },
    { endpoint: '/agentz' },
    { endpoint: '/agents/:agent_id/key' },
    { endpoint: 'constructor' },
    { tag: 'rules', endpoint: '/rules' },
  ]
  for (const query of refused) {
    await t.rejects(purge(query), { code: 604 }, JSON.stringify(query))
    await t.rejects(purge({ ...query, preview: 'true' }), { code: 604 })
  }
  t.equal((await stored()).length, 3)
  t.strictSame(events, [])
})

t.test('every tag of a stored response can be purged', async (t) => {
  const { store } = await cacheWithAgents()
  const stored = (await store.list()).flatMap(({ tags }) => tags)
  for (const tag of [...stored, 'node:worker-1', 'group:my web', 'agent:Büro'])
    t.match(purgeScopeOf(edgeRequest('DELETE /cache', { query: { tag } })), { tag })
})

t.test(
  'a purge that could not be sent to Redis is answered with 202, which the audit records as unknown',
  async (t) => {
    const { purge } = await cacheWithAgents({ purge: async () => 'pending' })
    t.match(await purge({}), { status: 202, origin: { isUnfinished: true } })
  },
)
