import { readFileSync } from 'node:fs'
import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { startConsoleEdge } from './edge.ts'

t.test('the view of requests', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, complaints } = await openConsole(browser, edge.operationsUrl)

  await t.test('the table can be saved as CSV and as JSON', async (t) => {
    await (await edge.get('/agents/000')).text()
    await page.goto(`${edge.operationsUrl}/console/#/requests?endpoint=agent_id`)
    await page.getByRole('rowheader', { name: 'GET /agents/:agent_id' }).first().waitFor()
    const save = async (format: string) => {
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `as ${format}` }).click(),
      ])
      t.match(download.suggestedFilename(), new RegExp(`^manager-edge-requests-\\d{8}T\\d{6}Z\\.${format}$`, 'i'))
      return readFileSync(await download.path(), 'utf8')
    }
    const [names = '', line = ''] = (await save('CSV')).split('\r\n')
    t.match(names, /^"time","method","endpoint","status",/)
    t.match(line, /^"[^"]+Z","GET","\/agents\/:agent_id",200,"miss",\d/)
    const [request] = JSON.parse(await save('JSON')) as Record<string, unknown>[]
    t.match(request, { endpoint: '/agents/:agent_id', status: 200, user: 'operator' })
  })

  t.strictSame(complaints, [])
})
