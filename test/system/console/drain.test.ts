import type { Page } from 'playwright-core'
import t from 'tap'
import { startRedis } from '../../support/redis.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { drainAccess, sendRequests, startConsoleEdge } from './edge.ts'
import { faultsOf } from './tour.ts'

/** The label of the element with the focus. */
function focused(page: Page): Promise<string | null> {
  return page.evaluate<string | null>('document.activeElement.getAttribute("aria-label")')
}

t.test('an operator drains a node and puts it back in the Nodes view', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const edge = await startConsoleEdge({ access: drainAccess, cache: { redis: { url: redis.url } } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)
  await (await edge.get('/cluster/*/logs?limit=5')).text()
  await (await edge.get('/cluster/*/logs?limit=6')).text()
  const { page, complaints, screenshot } = await openConsole(browser, edge.operationsUrl)
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.goto(`${edge.operationsUrl}/console/#/nodes`)
  const row = (name: string) => page.getByRole('region', { name: 'Nodes', exact: true }).getByRole('row', { name })
  await page.getByRole('button', { name: 'Drain worker-1' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('applies to all replicas').waitFor()
  t.match(await dialog.innerText(), /Calls in flight \(0 now\) end.*error 920/s)
  t.match(await dialog.innerText(), /until an operator puts it back\. An alert fires after a day/)
  const command = dialog.locator('code')
  t.match(await command.innerText(), /-X PUT .*\/api\/nodes\/worker-1\/drain'$/)
  const expected = dialog.getByRole('region', { name: 'Expected load without worker-1' }).locator('tbody tr')
  t.match(await expected.first().innerText(), /^master\s+[\d.]+\s+[\d.]+\s+0 of \d+$/)
  t.equal(await expected.count(), 2, 'the other nodes')

  const reason = dialog.getByLabel('Reason')
  await reason.fill('x'.repeat(200))
  t.equal((await reason.inputValue()).length, 150, 'as long as the API takes it')
  await reason.fill(' Disk of rack 7 & OPS-123 ')
  await dialog.getByLabel('For').selectOption('30 minutes')
  t.match(await command.innerText(), /drain\?for=30m&reason=Disk\+of\+rack\+7\+%26\+OPS-123'$/)
  await dialog.getByText('returns by itself at the end').waitFor()
  t.strictSame(await accessibilityViolations(page), [])
  await screenshot('drain')
  await page.setViewportSize({ width: 390, height: 844 })
  t.strictSame(await faultsOf(page), [], 'on a narrow screen')
  await screenshot('drain-narrow')
  await page.setViewportSize({ width: 1280, height: 900 })
  await dialog.getByRole('button', { name: 'Drain worker-1' }).click()
  await row('worker-1')
    .getByText(/^Disk of rack 7 & OPS-123, by operator, \d s ago, (?:30 min|29 min \d+ s) more$/)
    .waitFor()
  t.equal(await page.getByRole('dialog').count(), 0)
  t.equal(await focused(page), 'Put back worker-1', 'the focus returns')
  await page.goto(`${edge.operationsUrl}/console/#/now`)
  const inStrip = page
    .getByRole('region', { name: /^Nodes/ })
    .getByRole('listitem')
    .filter({ hasText: 'worker-1' })
  await inStrip.getByText(/^Disk of rack 7 & OPS-123, by operator, .* more$/).waitFor()
  t.strictSame(await accessibilityViolations(page), [])
  await screenshot('now-drained')
  await page.goto(`${edge.operationsUrl}/console/#/nodes`)
  await row('worker-1').waitFor()

  const table = page.getByRole('region', { name: 'Nodes', exact: true })
  t.ok(await table.evaluate((each) => each.scrollWidth <= each.clientWidth), 'the table fits at 1280 px')
  const joined = page.getByRole('region', { name: 'Last joined responses' }).locator('tbody tr')
  t.equal(await joined.count(), 1, 'one row for both responses of an endpoint')
  await screenshot('nodes-drained')
  t.strictSame(await accessibilityViolations(page), [])

  await page.getByRole('button', { name: 'Drain master' }).click()
  const drainMaster = dialog.getByRole('button', { name: 'Drain master' })
  t.ok(await drainMaster.isDisabled(), 'the master needs a second confirmation')
  await dialog.getByText('All writes fail').waitFor()
  await screenshot('drain-master')
  await dialog.getByLabel('Drain the master, although writes fail').check()
  await drainMaster.click()
  await row('master')
    .getByText(/by operator,/)
    .waitFor()
  await page.getByRole('button', { name: 'Drain worker-2' }).click()
  await dialog.getByRole('button', { name: 'Drain worker-2' }).click()
  await dialog.getByText(/last node in use/).waitFor()
  await page.keyboard.press('Escape')

  for (const [name, shown] of [
    ['master', /^Drained: by operator, \d+ s ago\.$/],
    ['worker-1', /^Drained: Disk of rack 7 .* more\.$/],
  ] as const) {
    await page.getByRole('button', { name: `Put back ${name}` }).click()
    await dialog.getByText(shown).waitFor()
    await dialog.getByRole('button', { name: `Put back ${name}` }).click()
    await row(name).getByText('up', { exact: true }).waitFor()
  }
  t.strictSame(
    complaints.filter((each) => !/409/.test(each)),
    [],
  )
})
