import t from 'tap'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

t.test('every view is accessible and fits in light and dark colours and on a narrow screen', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge)
  await edge.get('/agents/999')
  for (const limit of [4, 5]) await (await edge.get(`/decoders?limit=${limit}`)).text()
  await (await edge.get('/cluster/*/logs?limit=12&sort=-timestamp')).text()
  await edge.simulator.faults.set('worker-1', { nodeDown: true })
  await (await edge.get('/cluster/*/info')).text()

  const modes = [
    { name: 'light', options: {} },
    { name: 'dark', options: { dark: true } },
    { name: 'narrow', options: { width: 380, height: 760 } },
  ]
  for (const { name, options } of modes) {
    const { page, complaints, screenshot, close } = await openConsole(browser, edge.operationsUrl, options)
    const check = async (view: string) => {
      t.strictSame(await accessibilityViolations(page), [], `${name} ${view}: accessible`)
      const [wide, room] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]')
      t.ok(wide <= room, `${name} ${view}: fits, ${wide} of ${room}`)
      await screenshot(`${view}-${name}`)
    }
    await page.locator('.plot canvas').first().waitFor()
    t.match(await page.locator('.figures').innerText(), /Hit ratio/)
    await check('now')

    await page.getByRole('link', { name: 'Cache', exact: true }).click()
    await page.getByRole('row', { name: /^agents / }).waitFor()
    await check('groups')
    await page.getByRole('link', { name: 'Entries' }).click()
    await page.getByRole('row', { name: /\/agents\/000/ }).waitFor()
    await check('entries')
    await page.getByRole('row', { name: /\/agents\/000/ }).click()
    await page.locator('pre').waitFor()
    t.match(await page.getByRole('dialog').innerText(), /agents:read/)
    await check('entry')
    await page.keyboard.press('Escape')
    t.equal(await page.getByRole('dialog').count(), 0)

    await page.getByRole('link', { name: 'Snapshots' }).click()
    await page.getByRole('row', { name: /\/decoders#\*/ }).waitFor()
    await check('snapshots')

    await page.getByRole('link', { name: 'Explain a URL' }).click()
    await page.getByLabel('Path and query of a GET').fill('/rules?limit=3')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('Invalidated by').waitFor()
    t.match(await page.locator('.verdict').innerText(), /hit/)
    await check('explain')

    await page.getByRole('link', { name: 'Nodes', exact: true }).click()
    for (const node of edge.simulator.nodes) await page.getByRole('rowheader', { name: node.name }).waitFor()
    const joined = page.getByRole('region', { name: 'Last joined responses' })
    t.match(await joined.innerText(), /GET \/cluster\/:node_ids\/info.*worker-1 connection_refused.*worker-2 \d+ of/s)
    await check('nodes')

    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    await page.getByRole('rowheader', { name: 'GET /agents/:agent_id' }).first().waitFor()
    await check('requests')
    t.strictSame(complaints, [], `${name}: no error, no policy violation, no request to another host`)
    await close()
  }
})
