import t from 'tap'
import { accessibilityFaults, openConsole, startBrowser } from './browser.ts'
import { makeBusy, startConsoleEdge } from './edge.ts'

t.test('every view, in the light, in the dark and on a narrow screen', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await makeBusy(edge)
  await edge.ask('/agents/999')
  await (await edge.ask('/cluster/*/logs?limit=12&sort=-timestamp')).text()
  await edge.simulator.faults.set('worker-1', { refuse: true })
  await (await edge.ask('/cluster/*/info')).text()

  const looks = [
    { name: 'light', options: {} },
    { name: 'dark', options: { dark: true } },
    { name: 'narrow', options: { width: 380, height: 760 } },
  ]
  for (const { name, options } of looks) {
    const { page, complaints, picture, close } = await openConsole(browser, edge.operationsUrl, options)
    const check = async (view: string) => {
      t.strictSame(await accessibilityFaults(page), [], `${name} ${view}: accessible`)
      const [wide, room] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]')
      t.ok(wide <= room, `${name} ${view}: fits, ${wide} of ${room}`)
      await picture(`${view}-${name}`)
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

    await page.getByRole('link', { name: 'Explain a URL' }).click()
    await page.getByLabel('Path and query of a GET').fill('/rules?limit=3')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('Dropped by').waitFor()
    t.match(await page.locator('.verdict').innerText(), /hit/)
    await check('explain')

    await page.getByRole('link', { name: 'Nodes', exact: true }).click()
    for (const node of edge.simulator.nodes) await page.getByRole('rowheader', { name: node.name }).waitFor()
    const joined = page.getByRole('region', { name: 'Last joined answers' })
    t.match(await joined.innerText(), /GET \/cluster\/:node_ids\/info.*worker-1 connection_refused.*worker-2 \d+ of/s)
    await check('nodes')

    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    await page.getByRole('rowheader', { name: 'GET /agents/:agent_id' }).first().waitFor()
    await check('requests')
    t.strictSame(complaints, [], `${name}: nothing was refused, nothing failed, nobody else was asked`)
    await close()
  }
})
