import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

const ttl = { agents: '10m', cluster: '10m', decoders: '10m', rules: '10m', summary: '10m' }

t.test('the cache view: purges of a search and of a tag, refresh, empty states, explain', async (t) => {
  const auditFile = join(t.testdir(), 'audit.jsonl')
  const edge = await startConsoleEdge({ cache: { ttl, snapshots: { groups: [] } }, audit: { file: auditFile } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)
  const cacheStatus = async (url: string) => {
    const response = await edge.get(url)
    await response.text()
    return response.headers.get('cache-status') ?? ''
  }
  const { page, screenshot, complaints } = await openConsole(browser, edge.operationsUrl)
  const goTo = (view: string) => page.goto(`${edge.operationsUrl}/console/#/${view}`)
  const dialog = page.getByRole('dialog')
  const status = dialog.getByRole('status')

  await t.test('a purge of a search removes the entries of its preview, and no later one', async (t) => {
    await goTo('cache/entries?search=%2Fagents')
    await page.getByText(/^3 of 6 entries/).waitFor()
    await page.getByRole('button', { name: 'Purge this search …' }).press('Enter')
    await status.getByText(/^3 entries, .* Refill cost:/).waitFor()
    t.strictSame(await accessibilityViolations(page), [])
    await screenshot('purge-search')
    await cacheStatus('/agents/001')
    await dialog.getByRole('button', { name: 'Purge 3 entries' }).press('Enter')
    await status.getByText(/^Removed: 3 entries/).waitFor()
    await status.getByText('The search now matches 1 entry, stored after the preview. They are not purged.').waitFor()
    t.equal(await page.evaluate('document.activeElement.innerText'), 'Close', 'the focus is on what is left to do')
    t.notMatch(await cacheStatus('/agents/000'), /; ?hit/)
    t.match(await cacheStatus('/agents/001'), /; ?hit/, 'an entry that was stored after the preview remains')
    t.match(await cacheStatus('/rules?limit=3'), /; ?hit/, 'an entry that does not match remains')
    await page.keyboard.press('Enter')
  })

  await t.test('entries are read again on request', async (t) => {
    await goTo('cache/entries')
    await page.getByText(/^\d+ of \d+ entries/).waitFor()
    await cacheStatus('/agents/002')
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByRole('row', { name: '/agents/002' }).waitFor()
    t.strictSame(await accessibilityViolations(page), [])
    await screenshot('entries')
  })

  await t.test('a purge by tag shows its progress, and its button cannot be pressed twice', async (t) => {
    await page.getByRole('row', { name: '/agents/002' }).click()
    await dialog.getByRole('link', { name: 'agent:002' }).press('Enter')
    await page.getByText(/^1 of \d+ entries/).waitFor()
    await page.getByRole('button', { name: 'Purge the tag agent:002 …' }).click()
    await status.getByText(/^1 entry, /).waitFor()
    t.match(await dialog.locator('code').innerText(), /\/cache\?tag=agent%3A002'$/)
    let answer = () => undefined as unknown
    const held = new Promise<void>((resolve) => {
      answer = resolve as () => undefined
    })
    await page.route('**/api/purge', async (route) => {
      await held
      await route.continue()
    })
    await dialog.getByRole('button', { name: 'Purge 1 entry' }).click()
    await dialog.getByRole('progressbar').waitFor()
    t.equal(await dialog.getByRole('button', { name: 'Purging …' }).isDisabled(), true)
    await status.getByText('Purging …').waitFor()
    answer()
    await status.getByText(/^Removed: 1 entry/).waitFor()
    await page.unroute('**/api/purge')
    t.notMatch(await cacheStatus('/agents/002'), /; ?hit/)
    t.match(await cacheStatus('/agents/001'), /; ?hit/)
    await page.keyboard.press('Escape')
    const records = (await readFile(auditFile, 'utf8')).split('\n').filter((line) => line.includes('"tag":"agent:002"'))
    t.match(
      records.map((line) => JSON.parse(line)),
      [
        { kind: 'intent', caller: 'operator', method: 'DELETE', route: '/cache' },
        { kind: 'outcome', outcome: 'done', status: 200 },
      ],
      'one audit record before the purge and one after it',
    )
  })

  await t.test('a purge that fails is reported, also if a part of it succeeded', async () => {
    await goTo('cache/entries?search=%2F')
    await page.getByRole('button', { name: 'Purge this search …' }).click()
    // Two requests instead of one.
    await page.route('**/api/selection*', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), maxKeys: 2 } })
    })
    await dialog.getByRole('button', { name: 'Close' }).first().click()
    await page.getByRole('button', { name: 'Purge this search …' }).click()
    let requests = 0
    await page.route('**/api/purge', async (route) => {
      requests += 1
      await (requests === 1 ? route.continue() : route.fulfill({ status: 503, json: { message: 'Redis is loading' } }))
    })
    await dialog.getByRole('button', { name: /^Purge \d+ entries/ }).click()
    await status.getByText(/^The purge failed after 2 of \d+ entries: Redis is loading\./).waitFor()
    await status.getByText(/^Removed: 2 entries/).waitFor()
    await screenshot('purge-failed')
    await page.unroute('**/api/purge')
    await page.unroute('**/api/selection*')
    await page.keyboard.press('Escape')
  })

  await t.test('a search without a result says so, and can be cleared', async (t) => {
    await goTo('cache/entries?search=nothing-like-this')
    await page.getByText(/^No entry matches the search\. \d+ entries are stored\./).waitFor()
    await screenshot('no-match')
    await page.getByRole('button', { name: 'Clear the search' }).press('Enter')
    await page.getByRole('row', { name: '/rules' }).waitFor()
    t.notMatch(page.url(), 'search=')
  })

  await t.test('an error replaces the entries that were shown before', async (t) => {
    await page.route('**/api/entries?*', (route) =>
      route.fulfill({ status: 503, json: { message: 'no answer today' } }),
    )
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText('no answer today').waitFor()
    t.equal(await page.getByRole('row').count(), 0)
    await page.unroute('**/api/entries?*')
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByRole('row', { name: '/rules' }).waitFor()
  })

  await t.test('explain accepts a full URL, and an error replaces the previous answer', async (t) => {
    await goTo('cache/explain')
    const field = page.getByLabel('URL, or path and query of a GET')
    await field.fill('https://operator:s3cret@other.example:55000/agents/001')
    await field.press('Enter')
    await page.getByText(/^https:\/\/other\.example:55000 is not the address of this edge/).waitFor()
    await page.getByText('GET /agents/:agent_id', { exact: true }).waitFor()
    t.notMatch(page.url(), 's3cret', 'the address holds no password')
    t.equal(await field.inputValue(), '/agents/001', 'nor does the field')
    await screenshot('explain-other-host')
    await field.fill('/no/such/path')
    await field.press('Enter')
    await page.locator('main .warning').waitFor()
    t.equal(await page.getByText('GET /agents/:agent_id', { exact: true }).count(), 0)
    t.equal(await page.getByText(/is not the address/).count(), 0)
    t.strictSame(await accessibilityViolations(page), [])
  })

  t.strictSame(complaints, [])
})

t.test('a cache that is off explains why there are no entries', async (t) => {
  const edge = await startConsoleEdge({ cache: { enabled: false } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page } = await openConsole(browser, edge.operationsUrl)
  for (const part of ['groups', 'entries']) {
    await page.goto(`${edge.operationsUrl}/console/#/cache/${part}`)
    await page.getByText(/^The cache is off/).waitFor()
  }
})
