import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import t from 'tap'
import type { EntryPage } from '../../src/operations/console/answers/cache.ts'
import { consolePart } from '../../src/operations/console/index.ts'
import { createTail } from '../../src/operations/console/tail.ts'
import { createTraffic } from '../../src/operations/console/traffic.ts'
import { createOperations } from '../../src/operations/index.ts'
import { createMemoryStore, type MemoryStore } from '../../src/store/memory.ts'
import { openConsole, startBrowser } from './browser.ts'
import { buildPage } from './edge.ts'

const MANY = 100_000

t.test('a hundred thousand entries stay quick', async (t) => {
  buildPage()
  t.ok(existsSync('dist/console/index.html'))
  const store = createMemoryStore({ bytes: 1 << 30 })
  t.teardown(() => store.close())
  await fill(store)
  const url = await serve(store, t)

  const ask = async (query: string) => {
    const began = performance.now()
    const page = (await (await fetch(`${url}/api/entries?${query}`)).json()) as EntryPage
    return { ...page, took: performance.now() - began }
  }
  await ask('limit=1')
  const sorted = await ask('sort=-size&limit=100')
  t.equal(sorted.total, MANY)
  t.equal(sorted.items.length, 100)
  t.ok(
    sorted.items.every(({ size }, at) => at === 0 || size <= (sorted.items[at - 1]?.size ?? 0)),
    'sorted by the edge',
  )
  const next = await ask('sort=-size&limit=100&offset=100')
  const keys = new Set([...sorted.items, ...next.items].map(({ key }) => key))
  t.equal(keys.size, 200, 'pages fit together')
  t.ok(next.took < sorted.took, 'the next page is not sorted again')
  const few = await ask('search=agents/000123&group=agents&tag=agent:000123')
  t.equal(few.total, 1)
  t.equal(few.all, MANY)

  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, picture, complaints } = await openConsole(browser, url)
  await page.goto(`${url}/console/#/cache/entries`)
  await page.getByText('100,000 of 100,000 entries').waitFor()
  const rows = page.locator('.grid-row')
  await page.getByRole('row', { name: '/agents/000000' }).waitFor()
  t.ok((await rows.count()) < 80, `${await rows.count()} rows stand in the page`)
  await page.getByRole('grid').focus()
  await page.keyboard.press('End')
  await page.getByRole('row', { name: '/agents/099999' }).waitFor()
  t.ok((await rows.count()) < 80, `${await rows.count()} rows at the end`)
  for (let at = 0; at < 20; at++) await page.mouse.wheel(0, -40_000)
  await page.keyboard.press('Home')
  await page.getByRole('row', { name: '/agents/000000' }).waitFor()
  await page.getByLabel('Search').fill('agents/054321')
  await page.getByText('1 of 100,000 entries').waitFor()
  t.equal(await rows.count(), 1)
  await picture('many-entries')
  t.strictSame(complaints, [])
})

async function fill(store: MemoryStore): Promise<void> {
  const bytes = Buffer.from('{"error":0,"data":{}}')
  for (let at = 0; at < MANY; at++) {
    const id = String(at).padStart(6, '0')
    const key = `key-${id}`
    const tags = ['cache', 'cache:agents', `agent:${id}`]
    const look = await store.look(key, tags)
    if (look.kind !== 'absent') throw new Error('an empty store has something')
    const times = { keepFor: 3_600_000, staleWhileRevalidate: 0, staleIfError: 0, cost: 200 + (at % 100) }
    await store.keep({
      key,
      tags,
      mark: look.mark,
      answer: { status: 200, bytes: bytes.subarray(0, 1 + (at % bytes.length)), etag: `"${id}"`, ...times },
      listed: { url: `/agents/${id}`, group: 'agents', endpoint: '/agents/:agent_id', scope: 'everyone', tags },
    })
  }
}

/** The console over that store; who asks is let in, and may look. */
async function serve(store: MemoryStore, t: { teardown(end: () => unknown): void }): Promise<string> {
  const tail = createTail()
  const nothing = async () => {
    throw new Error('nobody asks that here')
  }
  const part = consolePart(
    {
      name: 'replica',
      version: '1.0.0',
      url: () => 'http://127.0.0.1:55000',
      ready: () => ({ ok: true, reasons: [] }),
      traffic: createTraffic(),
      tail,
      joins: { last: () => [] },
      index: store,
      cache: () => ({ enabled: true, shared: false }),
      nodes: () => [],
      permissionOf: () => 'agents:read',
      explain: nothing,
      read: nothing,
      purge: nothing,
    },
    resolve('dist/console'),
  )
  const signIn = {
    authentication: async () => () => ({ name: 'operator', permissions: ['operations:read'] }),
    clientAddress: () => '127.0.0.1',
  }
  const ready = () => ({ ok: true, reasons: [] })
  const log = { error: () => undefined }
  const app = await createOperations({ ready, log, signedIn: { signIn, parts: [part] } })
  t.teardown(() => {
    tail.close()
    return app.close()
  })
  return app.listen({ host: '127.0.0.1', port: 0 })
}
