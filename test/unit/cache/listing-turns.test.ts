import t from 'tap'
import { createEntryList } from '../../../packages/console/server/cache-entries.ts'
import { cacheOperations } from '../../../src/cache/operations.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { edgeRequest, lifetimes } from '../../support/edge-requests.ts'
import { measureBestRun } from '../../support/event-loop.ts'
import { startRedis } from '../../support/redis.ts'
import { fill } from './stores/contract.ts'
import { writeRows } from './stores/many-rows.ts'
import { replica } from './stores/replicas.ts'

const ENTRIES = 100_000
const MAX_TURN_MS = 20

t.test('a listing of 100,000 stored responses leaves the event loop to other requests', async (t) => {
  const index = createMemoryStore({ bytes: () => 1 << 30 })
  for (let at = 0; at < ENTRIES; at += 1) {
    const id = String((at * 7919) % ENTRIES).padStart(6, '0')
    await fill(index, id, { key: `key-${id}`, tags: ['cache', 'cache:agents', `agent:${id}`] })
  }
  const operations = cacheOperations({
    index,
    enabled: true,
    defaultDuration: () => 750,
    lifetimesOf: () => lifetimes,
    sharedThroughRedis: false,
  })
  const details = (query: Record<string, string>) => () =>
    operations.cacheIndex(edgeRequest('GET /cache', { query: { details: 'true', ...query } }))
  const consolePage = (query: object) => () => createEntryList(index).page(query)
  const works: Record<string, () => unknown> = {
    'details with a sort': details({ sort: '-size' }),
    'the last page of details with a sort': details({ sort: 'url', offset: `${ENTRIES - 10}` }),
    'details with a search': details({ search: '9' }),
    'details with a tag': details({ tag: 'cache' }),
    'all URLs': () => operations.cacheIndex(edgeRequest('GET /cache')),
    'a preview of a purge': () => operations.cacheClear(edgeRequest('DELETE /cache', { query: { preview: 'true' } })),
    'a page of the console': consolePage({ sort: 'url' }),
    'the last page of the console': consolePage({ sort: 'url', offset: ENTRIES - 10 }),
  }
  for (const [name, work] of Object.entries(works)) {
    const longest = await measureBestRun(work, MAX_TURN_MS)
    t.ok(longest < MAX_TURN_MS, `${name}: ${longest.toFixed(1)} ms of CPU time in the longest turn`)
  }
})

t.test('so does a listing of 100,000 stored responses in Redis', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { store } = await replica(t, redis, { times: { commandTimeout: 5000, bulkTimeout: 10_000 } })
  await writeRows(redis, store, ENTRIES)
  const works: Record<string, () => unknown> = {
    'a repeated listing': () => store.list(),
    'a listing after a write': async () => {
      await (await store.fence(['agent:000001'])).lift([])
      await store.list()
    },
  }
  t.equal((await store.list()).length, ENTRIES)
  for (const [name, work] of Object.entries(works)) {
    const longest = await measureBestRun(work, MAX_TURN_MS)
    t.ok(longest < MAX_TURN_MS, `${name}: ${longest.toFixed(1)} ms of CPU time in the longest turn`)
  }
})
