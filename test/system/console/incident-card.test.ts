/** The incidents of the console: a card in a sentence, its charts, and its Markdown, on screens of two widths. */
import t from 'tap'
import type { Incidents } from '../../../src/admin/console/history-types.ts'
import { eventually } from '../../support/eventually.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { startConsoleEdge } from './edge.ts'

t.test('an incident is a card with a sentence, charts and Markdown', async (t) => {
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
  t.match(await card.getByRole('link').getAttribute('href'), /^#\/now\?from=\d+$/)
  await card.locator('.plot canvas').nth(2).waitFor()
  t.strictSame(await card.locator('.chart-title').allInnerTexts(), [
    'Requests by outcome, per second',
    'Stale and failed, per second',
    'Node latency',
  ])
  const failed = card.getByRole('slider', { name: 'Stale and failed' })
  await eventually(async () =>
    /failures \(5xx\): newest [\d.]+, maximum (?!0\. )/.test((await card.locator('.chart').nth(1).innerText()) ?? ''),
  )
  const points = Number(await failed.getAttribute('aria-valuemax')) + 1
  t.ok(
    points >= 30 && points < 90,
    `${points} intervals of ten seconds: from five minutes before the incident until now`,
  )
  await card.getByText('Markdown', { exact: true }).click()
  t.match(await card.locator('pre').innerText(), /^### Incident of .*\| operator \| \d+ \| \d+ \|/s)
  await card.getByRole('link').click()
  const history = page.getByRole('region', { name: 'History' })
  await page.waitForURL(/from=\d+/)
  const chosen = history.getByRole('navigation', { name: 'Range' }).locator('[aria-current]')
  t.match(await chosen.allInnerTexts(), [/^\d{4}-\d\d-\d\d, \d\d:\d\d to now$/])
  const shown = history.getByRole('slider', { name: 'Requests per second' })
  await eventually(async () => Number(await shown.getAttribute('aria-valuemax')) + 1 >= points)
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 900 })
    for (const theme of ['light', 'dark']) {
      t.strictSame(await accessibilityViolations(page), [], `${width} ${theme}`)
      await screenshot(`incident-${width}-${theme}`)
      await page.keyboard.press('t')
    }
    t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `no wider than ${width}`)
  }

  await page.route('**/api/incidents', async (route) => {
    const response = await route.fetch()
    const { incidents } = (await response.json()) as Incidents
    const since = Date.now() - 3 * 24 * 3_600_000
    const earlier = incidents.map((incident) => ({ ...incident, since, until: since + 90_000 }))
    await route.fulfill({ response, json: { incidents: earlier } })
  })
  await page.goto(`${edge.operationsUrl}/console/#/now`)
  await section.getByText('over', { exact: true }).waitFor()
  t.equal(await card.locator('.chart').count(), 0, 'the charts of an earlier incident are closed')
  await card.getByText('Charts', { exact: true }).click()
  await card.getByText(/^The history has no records of this time\./).waitFor()
  await card.getByRole('link').click()
  await page.waitForURL(/from=\d+&to=\d+/)
  await history.getByText(/^The history has no records of this time\./).waitFor()
  t.strictSame(await accessibilityViolations(page), [])
  t.strictSame(complaints, [])
})
