/** The console of an edge with two ports shows the contract of requests, entries and explained URLs. */
import t from 'tap'
import { bothPorts } from '../v4-contract/both-ports.ts'
import { openConsole, startBrowser } from './browser.ts'
import { buildPage } from './edge.ts'
import { faultsOf } from './tour.ts'

t.test('requests, entries and explanations of the v4 contract are named as such', async (t) => {
  buildPage()
  const { edges, v3, v4 } = await bothPorts(t, { cache: { ttl: { agents: '10m' } } })
  const [edge] = edges
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { operationsUrl = '', secondUrl = '' } = edge ?? {}
  for (const send of [v3, v4]) for (const path of ['/agents?limit=2', '/agents?limit=2']) await send(0, path)
  for (const [mode, width] of [
    ['wide', 1440],
    ['narrow', 390],
  ] as const) {
    const { page, complaints, screenshot, close } = await openConsole(browser, operationsUrl, { width, height: 900 })
    const body = () => page.locator('body').innerText()
    const check = async (name: string, shows: RegExp) => {
      t.match(await body(), shows, `${mode} ${name}`)
      t.strictSame(await faultsOf(page), [], `${mode} ${name}: accessible, and no wider than the page`)
      await screenshot(`both-contracts-${name}-${mode}`)
    }
    const go = (address: string) => page.goto(`${operationsUrl}/console/#/${address}`)
    await go('now')
    await page.getByText(secondUrl).waitFor()
    await check('now', /Address for clients, v3 \(releases 3\.x\)[\s\S]*Address for clients, v4 \(releases 4\.x\)/)
    await go('requests?endpoint=v4:/agents')
    const row = page.getByRole('link', { name: 'GET v4:/agents' }).first()
    await row.waitFor()
    t.equal(await page.getByRole('link', { name: 'GET /agents' }).count(), 0, 'the filter takes the prefix')
    await check('requests', /GET v4:\/agents/)
    await row.click()
    await page.getByRole('dialog').getByText('Request id').waitFor()
    await check('request', /Contract\s+v4 \(releases 4\.x\)/)
    await go('cache/entries?endpoint=v4:/agents')
    await page.getByRole('row', { name: /v4:\/agents\?limit=2/ }).click()
    await page.getByRole('dialog').locator('pre').waitFor()
    await check('entry', /Contract\s+v4 \(releases 4\.x\)[\s\S]*agents:read[\s\S]*"affected_items"/)
    await page.getByRole('button', { name: 'Explain the URL' }).click()
    await page.getByText('Invalidated by').waitFor()
    await check('explain-entry', /hit[\s\S]*GET v4:\/agents[\s\S]*POST v4:\/agents/)
    await page.getByRole('textbox').first().fill(`${secondUrl}/agents?limit=7`)
    await page.getByRole('button', { name: 'Explain', exact: true }).click()
    await page.getByText('not stored').waitFor()
    t.equal(await page.getByRole('textbox').first().inputValue(), 'v4:/agents?limit=7', 'the port names the contract')
    await check('explain', /v4:\/agents\?limit=7/)
    t.strictSame(complaints, [])
    await close()
  }
})

t.test('a purge in the console names an endpoint of the v4 contract, and its command works', async (t) => {
  buildPage()
  const { edges, v3, v4 } = await bothPorts(t, { cache: { ttl: { agents: '10m' } } })
  const [edge] = edges
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { operationsUrl = '', url = '' } = edge ?? {}
  for (const send of [v3, v4]) await send(0, '/agents?limit=2')
  const { page, close } = await openConsole(browser, operationsUrl)
  await page.goto(`${operationsUrl}/console/#/cache/entries?endpoint=v4:/agents`)
  await page.getByRole('button', { name: 'Purge the endpoint v4:/agents' }).click()
  const dialog = page.getByRole('dialog')
  await dialog
    .getByText(/Refill cost/)
    .first()
    .waitFor()
  t.equal(
    await dialog.locator('.command code').innerText(),
    `curl -u 'operator' -X DELETE '${url}/cache?endpoint=v4:/agents'`,
  )
  await dialog.getByRole('button', { name: /^Purge/ }).click()
  await dialog
    .getByText(/removed|purged/i)
    .first()
    .waitFor()
  await close()
  t.match((await v3(0, '/agents?limit=2')).cache, /hit/)
  t.notMatch((await v4(0, '/agents?limit=2')).cache, /hit/)
})
