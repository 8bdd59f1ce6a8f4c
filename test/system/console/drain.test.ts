import t from 'tap'
import { startRedis } from '../../support/redis.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

t.test('an operator drains a node and puts it back in the Nodes view', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const roles = { operator: ['operator', 'maintainer'], reader: ['operator'] }
  const access = { roles, customRoles: { maintainer: ['nodes:drain'] } }
  const edge = await startConsoleEdge({ access, cache: { redis: { url: redis.url } } })
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
  t.match(await dialog.locator('code').innerText(), /-X PUT .*\/api\/nodes\/worker-1\/drain'$/)
  t.strictSame(await accessibilityViolations(page), [])
  await screenshot('drain')
  await dialog.getByRole('button', { name: 'Drain worker-1' }).click()
  await row('worker-1')
    .getByText(/by operator,/)
    .waitFor()
  t.equal(await page.getByRole('dialog').count(), 0)

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

  for (const name of ['master', 'worker-1']) {
    await page.getByRole('button', { name: `Put back ${name}` }).click()
    await dialog.getByRole('button', { name: `Put back ${name}` }).click()
    await row(name).getByText('up', { exact: true }).waitFor()
  }
  t.strictSame(
    complaints.filter((each) => !/409/.test(each)),
    [],
  )
})
