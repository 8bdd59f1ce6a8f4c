import t from 'tap'
import { createPurge } from '../../../src/app/operator-purges.ts'
import { cacheOperations } from '../../../src/cache/operations.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'
import { caller, edgeRequest, lifetimes, ManualClock, replica, success } from '../../support/edge-requests.ts'

const agent = (id: string) => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })

async function consoleOverCache() {
  const clock = new ManualClock()
  const store = createMemoryStore({ bytes: () => 1 << 20, elapsed: clock.read })
  const { nodes, read } = replica({ store, clock: clock.read })
  nodes.respond = async () => success('x')
  const ports = {
    index: store,
    enabled: true,
    defaultDuration: () => 750,
    lifetimesOf: () => lifetimes,
    sharedThroughRedis: false,
  }
  const { cacheClear } = cacheOperations(ports)
  const sent: EdgeRequest[] = []
  const purge = createPurge((request) => {
    sent.push(request)
    return cacheClear(request)
  }, ports)
  const by = { caller, client: '127.0.0.1', requestId: 'r' }
  const keyOf = async (url: string) => (await store.list()).find((entry) => entry.url === url)?.key ?? ''
  return {
    store,
    read,
    sent,
    keyOf,
    purge: (names: object) => purge({ soft: false, preview: false, ...names }, by),
  }
}

t.test('a purge by key reports the keys without an entry', async (t) => {
  const { store, read, keyOf, purge } = await consoleOverCache()
  await read(agent('001'))
  await read(agent('002'))
  const keys = [await keyOf('/agents/001'), await keyOf('/agents/002'), 'x'.repeat(43)]
  t.match(await purge({ keys }), { entries: 2, missing: 1, pending: false })
  t.strictSame(await store.list(), [])
})

t.test('a preview sends no purge', async (t) => {
  const { read, sent, store, purge } = await consoleOverCache()
  await read(agent('001'))
  t.match(await purge({ tag: 'agent:001', preview: true }), { entries: 1, pending: false })
  t.strictSame(sent, [])
  t.equal((await store.list()).length, 1)
  await purge({ endpoint: '/agents/:agent_id' })
  t.match(sent, [{ endpoint: { method: 'DELETE', path: '/cache' }, query: { endpoint: '/agents/:agent_id' } }])
})

t.test('a name that no response can have is refused, also in a preview', async (t) => {
  const { purge } = await consoleOverCache()
  await t.rejects(purge({ tag: 'nope', preview: true }), { code: 604 })
})
