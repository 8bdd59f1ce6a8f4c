/** The incidents of the console: a card in a sentence, and its Markdown, on screens of two widths. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { startConsoleEdge } from './edge.ts'

t.test('an incident is a card with a sentence and Markdown', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, complaints, screenshot } = await openConsole(browser, edge.operationsUrl, { width: 1440, height: 900 })
  const section = page.getByRole('region', { name: 'Incidents', exact: true })
  await section.getByText('None in the last seven days.').waitFor()
  await edge.simulator.faults.set('worker-1', { nodeDown: true })
  await eventually(async () => {
    await (await edge.get('/cluster/worker-1/info')).text()
    return (await section.getByRole('article').count()) > 0
  }, 60_000)
  const card = section.getByRole('article')
  t.match(await card.innerText(), /now.*Since \d\d:\d\d:\d\d UTC: worker-1 is down\..*most affected: operator/s)
  t.equal(await card.getByRole('link').getAttribute('href'), '#/now?range=15m')
  await card.getByText('Markdown', { exact: true }).click()
  t.match(await card.locator('pre').innerText(), /^### Incident of .*\| operator \| \d+ \| \d+ \|/s)
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 })
    for (const theme of ['light', 'dark']) {
      t.strictSame(await accessibilityViolations(page), [], `${width} ${theme}`)
      await screenshot(`incident-${width}-${theme}`)
      await page.keyboard.press('t')
    }
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `no wider than ${width}`)
  }
  t.strictSame(complaints, [])
})
