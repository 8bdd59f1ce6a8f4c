import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { makeBusy, startConsoleEdge } from './edge.ts'

t.test('who may look sees what stands there, but no body and no purge that are not theirs', async (t) => {
  const edge = await startConsoleEdge({
    access: {
      ownRoles: { watcher: ['operations:read', 'rules:read'] },
      roles: { admin: ['administrator'], operator: ['operator'], reader: ['watcher'] },
    },
  })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await makeBusy(edge, 1)

  const { page, complaints, picture } = await openConsole(browser, edge.operationsUrl, { user: 'reader' })
  await page.goto(`${edge.operationsUrl}/console/#/cache/groups`)
  await page.getByRole('row', { name: /^agents / }).waitFor()
  t.equal(await page.getByRole('button', { name: /Purge/ }).count(), 0, 'no purge is offered')
  await page.goto(`${edge.operationsUrl}/console/#/cache/entries`)
  await page.getByRole('row', { name: '/agents/000' }).click()
  await page.getByText(/^Not shown\. Permission denied.*agents:read/).waitFor()
  t.equal(await page.locator('pre').count(), 0)
  await picture('not-shown')
  await page.keyboard.press('Escape')
  await page.getByRole('row', { name: '/rules' }).click()
  await page.locator('pre').waitFor()
  t.match(await page.locator('pre').innerText(), '"items"', 'what they may ask for is shown')
  t.strictSame(complaints, [])

  const headers = {
    authorization: edge.authorization('reader'),
    'x-edge-console': '1',
    'content-type': 'application/json',
  }
  const body = JSON.stringify({ soft: false, preview: false })
  const purge = await fetch(`${edge.operationsUrl}/api/purge`, { method: 'POST', headers, body })
  t.equal(purge.status, 403, 'nor is one done')
})
