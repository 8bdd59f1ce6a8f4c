import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import type { EntryPage } from '../../../packages/console/server/cache-types.ts'
import { CallerCounts } from '../../../packages/console/server/caller-counts.ts'
import { ConsoleCosts } from '../../../packages/console/server/costs.ts'
import { consolePart } from '../../../packages/console/server/index.ts'
import { createLiveTail } from '../../../packages/console/server/live-tail.ts'
import { RequestRecords } from '../../../packages/console/server/request-records.ts'
import { createOperationsListener } from '../../../src/admin/listener.ts'
import { createMemoryStore, type MemoryStore } from '../../../src/cache/stores/memory-store.ts'
import type { IndexEntry } from '../../../src/core/cache-entries.ts'
import type { CacheIndex } from '../../../src/core/cache-index.ts'
import { createEdgeEvents, RequestCounts } from '../../../src/telemetry/events.ts'
import { startRedis } from '../../support/redis.ts'
import { storedResponse } from '../../support/stored-response.ts'
import { trafficOf } from '../../support/traffic.ts'
import { writeRows } from '../../unit/cache/stores/many-rows.ts'
import { replica, sleep } from '../../unit/cache/stores/replicas.ts'
import { openConsole, startBrowser } from './browser.ts'
import { buildPage } from './edge.ts'

const MANY = 100_000

t.test('the list of 100,000 entries is quick', async (t) => {
  buildPage()
  t.ok(existsSync('dist/console/index.html'))
  const store = createMemoryStore({ bytes: () => 1 << 30 })
  t.teardown(() => store.close())
  await fill(store)
  const url = await serve(store, t)

  const fetchPage = entryPages(url)
  await fetchComplete(fetchPage, 'limit=1')
  const sorted = await fetchPage('sort=-size&limit=100')
  t.equal(sorted.total, MANY)
  t.equal(sorted.items.length, 100)
  t.ok(
    sorted.items.every(({ size }, at) => at === 0 || size <= (sorted.items[at - 1]?.size ?? 0)),
    'the edge sorts',
  )
  const next = await fetchPage('sort=-size&limit=100&offset=100')
  const keys = new Set([...sorted.items, ...next.items].map(({ key }) => key))
  t.equal(keys.size, 200, 'no entry is on two pages')
  t.ok(next.took < sorted.took, 'the next page is not sorted again')
  const few = await fetchPage('search=agents/000123&group=agents&tag=agent:000123')
  t.equal(few.total, 1)
  t.equal(few.all, MANY)

  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, screenshot, complaints } = await openConsole(browser, url)
  await page.goto(`${url}/console/#/cache/entries`)
  await page.getByText('100,000 of 100,000 entries').waitFor()
  const rows = page.locator('.grid-row')
  await page.getByRole('row', { name: '/agents/000000' }).waitFor()
  t.ok((await rows.count()) < 80, `${await rows.count()} rows are rendered`)
  await page.getByRole('grid').focus()
  await page.keyboard.press('End')
  await page.getByRole('row', { name: '/agents/099999' }).waitFor()
  t.ok((await rows.count()) < 80, `${await rows.count()} rows are rendered at the end`)
  for (let at = 0; at < 20; at++) await page.mouse.wheel(0, -40_000)
  await page.keyboard.press('Home')
  await page.getByRole('row', { name: '/agents/000000' }).waitFor()
  await page.getByLabel('Search').fill('agents/054321')
  await page.getByText('1 of 100,000 entries').waitFor()
  t.equal(await rows.count(), 1)
  await screenshot('many-entries')
  t.strictSame(complaints, [])
})

t.test('100,000 entries in Redis are read in few steps, and lookups continue meanwhile', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  // On a busy machine a step takes longer; after a timeout the test would read no rows.
  const { store } = await replica(t, redis, { times: { commandTimeout: 2000 } })
  await writeRows(redis, store, MANY)
  const client = redis.client()
  const steps = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0)
  const fetchPage = entryPages(await serve(store, t))

  const before = await steps()
  const began = performance.now()
  const read = fetchComplete(fetchPage, 'sort=-size&limit=100')
  const waits = await waitsUntil(read, async () => store.lookup('none', ['cache', 'cache:agents']))
  const took = performance.now() - began
  const sorted = await read
  t.equal(sorted.total, MANY)
  t.ok(sorted.items.every(({ size }, at) => at === 0 || size <= (sorted.items[at - 1]?.size ?? 0)))
  const longest = Math.max(...waits)
  t.comment(
    `read and sorted in ${took.toFixed()} ms; ${waits.length} lookups meanwhile, the longest ${longest.toFixed()} ms`,
  )
  const own = (await steps()) - before - waits.length
  t.ok(own < MANY / 50, `${own} steps`)
  t.ok(waits.length > 10, `${waits.length} lookups meanwhile`)
  t.ok(longest < took / 2, 'no lookup waited for the whole read')

  await (await store.fence(['agent:000123'])).lift([])
  t.equal((await store.list()).length, MANY - 1, 'an entry that a write invalidated is not listed')
})

t.test('rows are shown before the whole index is read', async (t) => {
  const rows = Array.from({ length: 200 }, (_, at) => rowOf(String(at).padStart(6, '0')))
  let end = () => {}
  const all = new Promise<void>((resolve) => {
    end = resolve
  })
  const index: CacheIndex = {
    ...createMemoryStore({ bytes: () => 0 }),
    async list(_group, onProgress) {
      onProgress?.(rows.slice(0, 30))
      await all
      return rows
    },
  }
  const url = await serve(index, t)
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, screenshot, complaints } = await openConsole(browser, url)
  await page.goto(`${url}/console/#/cache/entries`)
  await page.getByText(/^30 of 30 entries, .*Still scanning/).waitFor()
  await page.getByRole('row', { name: '/agents/000000' }).waitFor()
  await screenshot('still-scanning')
  await page.goto(`${url}/console/#/cache/groups`)
  await page.getByText('Still scanning').waitFor()
  t.match(await page.getByRole('row', { name: /^agents / }).innerText(), /\b30\b/)
  await page.goto(`${url}/console/#/cache/entries`)
  const late = entryPages(url)
  const details = fetch(`${url}/api/entries/key-000150`)
  end()
  await page.getByText(/^200 of 200 entries, .* As of/).waitFor()
  t.equal((await details).status, 500, 'the entry is found once the read has finished; the test provides no body')
  t.equal((await late('limit=1')).total, 200)
  t.strictSame(complaints, [])

  let requests = 0
  await page.route(/offset=100/, (route) => {
    requests += 1
    return route.abort()
  })
  await page.getByRole('grid').press('End')
  await page.getByText('the edge is unreachable', { exact: true }).waitFor()
  // Each response to a poll renders the page.
  for (let polls = 0; polls < 2; polls++) await page.waitForResponse((response) => response.url().endsWith('/api/now'))
  t.equal(requests, 1, 'a failed page is not requested again at once')
})

function entryPages(url: string) {
  return async (query: string) => {
    const before = process.cpuUsage()
    const page = (await (await fetch(`${url}/api/entries?${query}`)).json()) as EntryPage
    // CPU time of this process, in which the edge runs: other processes do not count.
    return { ...page, took: process.cpuUsage(before).user }
  }
}

async function fetchComplete(fetchPage: ReturnType<typeof entryPages>, query: string): Promise<EntryPage> {
  const page = await fetchPage(query)
  return page.partial ? fetchComplete(fetchPage, query) : page
}

/** Repeats the step until the work is done. Returns the milliseconds of each step. */
async function waitsUntil(work: Promise<unknown>, step: () => Promise<unknown>): Promise<number[]> {
  const waits: number[] = []
  let done = false
  const end = () => {
    done = true
  }
  work.then(end, end)
  while (!done) {
    const began = performance.now()
    await step()
    waits.push(performance.now() - began)
    await sleep(2)
  }
  return waits
}

function rowOf(id: string): IndexEntry {
  const tags = ['cache', 'cache:agents', `agent:${id}`]
  const listed = { url: `/agents/${id}`, group: 'agents', endpoint: '/agents/:agent_id', scope: 'everyone', tags }
  return { ...listed, key: `key-${id}`, size: 100, age: 0, timeLeft: 3_600_000, hits: 0, fetchTime: 200 }
}

async function fill(store: MemoryStore): Promise<void> {
  const bytes = Buffer.from('{"error":0,"data":{}}')
  for (let at = 0; at < MANY; at++) {
    const id = String(at).padStart(6, '0')
    const key = `key-${id}`
    const tags = ['cache', 'cache:agents', `agent:${id}`]
    const lookup = await store.lookup(key, tags)
    if (lookup.kind !== 'miss') throw new Error('the store is not empty')
    const times = { ttl: 3_600_000, fetchTime: 200 + (at % 100) }
    await store.store({
      key,
      tags,
      epochs: lookup.epochs,
      stored: storedResponse(bytes.subarray(0, 1 + (at % bytes.length)), { etag: `"${id}"`, ...times }),
      info: { url: `/agents/${id}`, group: 'agents', endpoint: '/agents/:agent_id', scope: 'everyone', tags },
    })
  }
}

/** Serves the console over the index, without authentication. */
async function serve(index: CacheIndex, t: { teardown(end: () => unknown): void }): Promise<string> {
  const { requests } = createEdgeEvents()
  const records = new RequestRecords(requests)
  const tail = createLiveTail(records)
  const never = () => {
    throw new Error('not part of this test')
  }
  const nothing = async () => never()
  const part = consolePart(
    {
      name: 'replica',
      version: '1.0.0',
      clientPorts: () => [{ contract: 'v3', url: 'http://127.0.0.1:55000' }],
      ready: () => ({ ok: true, reasons: [] }),
      problems: () => [],
      cluster: { nodes: () => [], layoutMixture: () => undefined },
      cache: {
        state: () => ({ enabled: true, shared: false, unreachable: false, faults: [] }),
        capacity: () => ({}),
        index,
        snapshots: () => [],
        purge: nothing,
        explain: nothing,
        read: nothing,
      },
      drains: { areShared: false, drain: nothing, putBack: nothing },
      events: { on: () => never, requests, totals: () => new RequestCounts(), recordStages: never },
      report: never,
      access: { permissionOf: () => 'agents:read', rolesOf: () => [], usePages: never },
    },
    {
      traffic: trafficOf(() => performance.now()),
      history: { read: never },
      costs: new ConsoleCosts({ drain: () => undefined }, new CallerCounts()),
      tail,
      records,
      joins: { last: () => [] },
      recordStages: () => undefined,
    },
    resolve('dist/console'),
  )
  const signIn = {
    authentication: async () => () => ({ name: 'operator', permissions: ['operations:read'] }),
    clientAddress: () => '127.0.0.1',
  }
  const ready = () => ({ ok: true, reasons: [] })
  const log = { error: () => undefined }
  const app = await createOperationsListener({
    ready,
    degradations: () => [],
    log,
    signedIn: { signIn, parts: [part] },
  })
  t.teardown(() => {
    tail.close()
    records.close()
    return app.close()
  })
  return app.listen({ host: '127.0.0.1', port: 0 })
}
