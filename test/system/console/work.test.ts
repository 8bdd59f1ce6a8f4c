import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

t.test('daily work of an operator', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)
  const cacheStatus = async (url: string) => {
    const response = await edge.get(url)
    await response.text()
    return response.headers.get('cache-status') ?? ''
  }

  await t.test('a group is purged after a preview of the cost', async (t) => {
    const { page, screenshot, complaints, close } = await openConsole(browser, edge.operationsUrl)
    t.match(await cacheStatus('/rules?limit=3'), /; ?hit/)
    await page.goto(`${edge.operationsUrl}/console/#/cache/groups`)
    await page.getByRole('button', { name: 'Purge the group rules' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(/1 entry, .* Refill cost:/).waitFor()
    const command = await dialog.locator('code').innerText()
    t.equal(command, `curl -u 'operator' -X DELETE '${edge.url}/cache/rules'`)
    await screenshot('purge')
    t.match(await cacheStatus('/rules?limit=3'), /; ?hit/, 'the preview removes nothing')
    await dialog.getByRole('button', { name: 'Purge 1 entry' }).click()
    await dialog.getByText(/^Removed: 1 entry/).waitFor()
    t.notMatch(await cacheStatus('/rules?limit=3'), /; ?hit/, 'the entry is removed')
    t.match(await cacheStatus('/decoders?limit=3'), /; ?hit/, 'other groups remain')
    await page.keyboard.press('Escape')
    t.equal(await page.getByRole('dialog').count(), 0)
    t.strictSame(complaints, [])
    await close()
  })

  await t.test('one entry is purged from its details', async (t) => {
    const { page, complaints, close } = await openConsole(browser, edge.operationsUrl)
    t.match(await cacheStatus('/cluster/master/logs/summary'), /; ?hit|fwd/)
    await page.goto(`${edge.operationsUrl}/console/#/cache/entries?search=logs`)
    await page.getByRole('row', { name: '/cluster/master/logs/summary' }).click()
    await page.getByRole('button', { name: 'Purge …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Purge one entry' })
    t.match(await dialog.locator('code').innerText(), /\/cache\?key=[A-Za-z0-9_-]{43}'$/)
    await dialog.getByRole('button', { name: 'Purge 1 entry' }).click()
    await dialog.getByText(/^Removed: 1 entry/).waitFor()
    await page.keyboard.press('Escape')
    await page.getByText(/^0 of \d+ entries/).waitFor()
    t.equal(await page.getByRole('dialog').count(), 0, 'the details of the purged entry close')
    t.notMatch(await cacheStatus('/cluster/master/logs/summary'), /; ?hit/)
    t.strictSame(complaints, [])
    await close()
  })

  await t.test('a soft purge marks all entries as stale', async (t) => {
    const { page, close } = await openConsole(browser, edge.operationsUrl)
    await page.goto(`${edge.operationsUrl}/console/#/cache`)
    await page.getByRole('button', { name: 'Purge everything' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/Mark as stale/).check()
    t.match(await dialog.locator('code').innerText(), /cache\?soft=true'$/)
    await dialog.getByRole('button', { name: /^Mark \d+ entries as stale/ }).click()
    await dialog.getByText(/^Marked as stale: /).waitFor()
    t.match(await cacheStatus('/decoders?limit=3'), /; ?hit; ?ttl=-/, 'the entry is served stale')
    await close()
  })

  await t.test('polls do not disturb the typing of a URL', async (t) => {
    const { page, close } = await openConsole(browser, edge.operationsUrl)
    await page.goto(`${edge.operationsUrl}/console/#/cache/explain`)
    const field = page.getByLabel('Path and query of a GET')
    await field.pressSequentially('/agents/')
    // Each response to a poll renders the page.
    for (let polls = 0; polls < 2; polls++)
      await page.waitForResponse((response) => response.url().endsWith('/api/now'))
    await field.pressSequentially('000')
    await field.press('Enter')
    await page.getByText('GET /agents/:agent_id', { exact: true }).waitFor()
    t.equal(await field.inputValue(), '/agents/000')
    await close()
  })

  await t.test('the live tail can be filtered and paused', async (t) => {
    const { page, close } = await openConsole(browser, edge.operationsUrl)
    await page.goto(`${edge.operationsUrl}/console/#/requests`)
    await page.getByText('live', { exact: true }).waitFor()
    const rows = (name: string) => page.getByRole('rowheader', { name, exact: true })
    const before = await rows('GET /summary/agents').count()
    await cacheStatus('/summary/agents')
    await rows('GET /summary/agents').nth(before).waitFor()

    const endpoint = page.getByLabel('Endpoint')
    for (const letter of '/agents/:agent_id') {
      await endpoint.press(letter)
      await cacheStatus('/summary/agents')
    }
    await page.waitForURL(/endpoint=%2Fagents%2F%3Aagent_id/)
    t.equal(await endpoint.inputValue(), '/agents/:agent_id', 'new requests do not disturb the typing of a filter')
    await cacheStatus('/agents/001')
    await rows('GET /agents/:agent_id').first().waitFor()
    await rows('GET /summary/agents').first().waitFor({ state: 'detached' })
    t.pass('other requests are not shown')
    const shown = await page.locator('main').innerText()
    t.notMatch(shown, '/agents/001', 'the tail shows the route, not the URL')

    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('paused', { exact: true }).waitFor()
    const shownBefore = await rows('GET /agents/:agent_id').count()
    const other = await openConsole(browser, edge.operationsUrl)
    await other.page.goto(`${edge.operationsUrl}/console/#/requests?endpoint=manager/info`)
    await other.page.getByText('live', { exact: true }).waitFor()
    await cacheStatus('/agents/002')
    await cacheStatus('/manager/info')
    await other.page.getByRole('rowheader', { name: 'GET /manager/info' }).waitFor()
    t.equal(await rows('GET /agents/:agent_id').count(), shownBefore, 'a paused tail does not change')
    await other.close()
    await close()
  })
})

t.test('the page reports that the edge is unreachable', async (t) => {
  const edge = await startConsoleEdge({ cluster: { discover: false } })
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)
  const { page, screenshot, close } = await openConsole(browser, edge.operationsUrl)
  await page.getByText('ready', { exact: true }).waitFor()
  await page.locator('.figures').waitFor()
  await edge.close()
  await page.getByText(/The edge is unreachable\. The data below is \d+(\.\d+)? s old\./).waitFor({ timeout: 20_000 })
  await page.getByText('no connection', { exact: true }).waitFor()
  t.equal(await page.locator('.figures').count(), 1, 'the last data remains')
  await screenshot('no-connection')
  await close()
})

t.test('the page stops its requests when the sign-in is no longer valid', async (t) => {
  const edge = await startConsoleEdge({ access: { limits: { failedLogins: 5 } } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const users = join(edge.folder, 'users')
  const before = await readFile(users, 'utf8')
  const { page, close } = await openConsole(browser, edge.operationsUrl)
  await page.clock.install()
  await page.goto(`${edge.operationsUrl}/console/#/nodes`)
  await page.reload()
  await page.getByRole('banner').getByText('ready', { exact: true }).waitFor()
  const refused: number[] = []
  page.on('response', (response) => {
    if (response.status() >= 400) refused.push(response.status())
  })
  await writeFile(users, before.replace(/operator:.*/, `operator:${await hash('changed', 4)}`))
  await page.getByText(/Your sign-in is no longer valid: reload the page\./).waitFor({ timeout: 20_000 })
  await page.getByText('no connection', { exact: true }).waitFor()
  await page.clock.fastForward(60_000)
  t.ok(refused.length < 4, `an open page does not lock its user out: ${refused.join(' ')}`)
  const authorization = `Basic ${btoa('operator:changed')}`
  t.equal((await fetch(`${edge.operationsUrl}/api/now`, { headers: { authorization } })).status, 200)
  await close()
})
