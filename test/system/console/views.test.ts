import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { drainAccess, sendRequests, startConsoleEdge, ttl } from './edge.ts'
import { faultsOf, tour } from './tour.ts'

t.test('every view is accessible and fits in light and dark colours and on a narrow screen', async (t) => {
  const edge = await startConsoleEdge({ access: drainAccess, cache: { ttl } })
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
    { name: 'light', options: { width: 1440, height: 900 } },
    { name: 'dark', options: { dark: true, width: 1024, height: 768 } },
    { name: 'narrow', options: { width: 390, height: 844 } },
  ]
  for (const { name: mode, options } of modes) {
    const { page, complaints, screenshot, close } = await openConsole(browser, edge.operationsUrl, options)
    const visited = new Set<string | undefined>()
    for (const { name, open, shows } of tour) {
      await open(page, `${edge.operationsUrl}/console/`)
      if (shows !== undefined) t.match(await page.locator('body').innerText(), shows, `${mode} ${name}: content`)
      t.strictSame(await faultsOf(page), [], `${mode} ${name}: accessible, and no wider than the page`)
      await screenshot(`${name}-${mode}`)
      visited.add(/^#\/\w+/.exec(new URL(page.url()).hash)?.[0])
    }
    const links = await page
      .locator('nav[aria-label=Views] a')
      .evaluateAll((all) => all.map((a) => a.getAttribute('href')))
    for (const link of links) t.ok(visited.has(link ?? ''), `test/system/console/tour.ts visits ${link}`)
    t.strictSame(complaints, [], `${mode}: no error, no policy violation, no request to another host`)
    await close()
  }
})
