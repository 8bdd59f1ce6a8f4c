import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

t.test('an operator sees no body and no purge without the permission for it', async (t) => {
  const edge = await startConsoleEdge({
    access: {
      customRoles: { watcher: ['operations:read', 'rules:read'] },
      roles: { admin: ['administrator'], operator: ['operator'], reader: ['watcher'] },
    },
  })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)

  const { page, complaints, screenshot } = await openConsole(browser, edge.operationsUrl, { user: 'reader' })
  await page.goto(`${edge.operationsUrl}/console/#/cache/groups`)
  await page.getByRole('row', { name: /^agents / }).waitFor()
  t.equal(await page.getByRole('button', { name: /Purge/ }).count(), 0, 'no purge is offered')
  await page.goto(`${edge.operationsUrl}/console/#/cache/entries`)
  await page.getByRole('row', { name: '/agents/000' }).click()
  await page.getByText(/^Not shown\. Permission denied.*agents:read/).waitFor()
  t.equal(await page.locator('pre').count(), 0)
  await screenshot('not-shown')
  await page.keyboard.press('Escape')
  await page.getByRole('row', { name: '/rules' }).click()
  await page.locator('pre').waitFor()
  t.match(await page.locator('pre').innerText(), '"items"', 'the body is shown if the operator may read the endpoint')
  t.strictSame(complaints, [])

  const headers = {
    authorization: edge.authorization('reader'),
    'x-edge-console': '1',
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ soft: false, preview: false })
  const purge = await fetch(`${edge.operationsUrl}/api/purge`, { method: 'POST', headers, body })
  t.equal(purge.status, 403, 'the API refuses the purge')
})
