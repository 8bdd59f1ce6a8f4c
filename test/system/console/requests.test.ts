import { text } from 'node:stream/consumers'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { startConsoleEdge } from './edge.ts'

t.test('the view of requests', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, complaints, screenshot } = await openConsole(browser, edge.operationsUrl)

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
      return text(await download.createReadStream())
    }
    const [names = '', line = ''] = (await save('CSV')).split('\r\n')
    t.match(names, /^"time","method","path","status",/)
    t.match(line, /^"[^"]+Z","GET","\/agents\/:agent_id",200,"miss",\d/)
    const [request] = JSON.parse(await save('JSON')) as Record<string, unknown>[]
    t.match(request, { path: '/agents/:agent_id', status: 200, user: 'operator' })
  })

  await t.test('a row opens to the stages, the calls and the cache decision of its request', async (t) => {
    await (await edge.get('/cluster/*/info')).text()
    await page.goto(`${edge.operationsUrl}/console/#/requests?endpoint=node_ids`)
    await page.getByRole('link', { name: 'GET /cluster/:node_ids/info' }).first().click()
    const dialog = page.getByRole('dialog', { name: 'GET /cluster/:node_ids/info' })
    const stages = dialog.getByRole('region', { name: 'Stages' })
    await stages.getByRole('rowheader', { name: 'authenticate' }).waitFor()
    await stages.getByRole('rowheader', { name: 'join', exact: true }).waitFor()
    const calls = dialog.getByRole('region', { name: 'Calls to nodes' }).locator('tbody tr')
    t.equal(await calls.count(), 3, 'one call to each node')
    t.match(await dialog.innerText(), /miss\. No response was stored/)
    await screenshot('request')
    t.strictSame(await accessibilityViolations(page), [])
    await page.keyboard.press('Escape')
    t.equal(await page.getByRole('dialog').count(), 0)
    // The page goes back in its history, which takes effect later.
    await t.resolves(page.waitForURL(/#\/requests\?endpoint=node_ids$/), 'the filter remains')
  })

  await t.test('a request is found by the id that its client received', async () => {
    let id = ''
    // A replica whose process got no time for some seconds discards its stored responses, so that the first read may be a miss.
    await eventually(async () => {
      const response = await edge.get('/agents/000')
      id = response.headers.get('x-request-id') ?? ''
      await response.text()
      return /; hit; ttl=\d/.test(response.headers.get('cache-status') ?? '')
    })
    await page.goto(`${edge.operationsUrl}/console/#/requests/${id}`)
    await page.getByRole('dialog', { name: 'GET /agents/:agent_id' }).getByText('hit. A fresh response').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Request id').fill(` ${id} `)
    await page.waitForURL(/id=/)
    const rows = page.locator('tbody tr')
    await rows.and(page.locator(':only-child')).waitFor()
    await page.getByLabel('Request id').fill('00000000-0000-0000-0000-000000000000')
    await page.getByText('This replica has no record of this request').waitFor()
  })

  await t.test('a request opens also at the moment when another is closed', async () => {
    const [first, second] = [await edge.get('/agents/000'), await edge.get('/manager/info')]
    await Promise.all([first.text(), second.text()])
    const addressOf = ({ headers }: Response) => `#/requests/${headers.get('x-request-id')}`
    await page.goto(`${edge.operationsUrl}/console/${addressOf(first)}`)
    await page.getByRole('dialog', { name: 'GET /agents/:agent_id' }).waitFor()
    await page.evaluate(`{
      const dialog = document.querySelector('dialog')
      dialog.addEventListener('close', () => { location.hash = '${addressOf(second)}' })
      dialog.close()
    }`)
    await page.getByRole('dialog', { name: 'GET /manager/info' }).waitFor()
  })

  await t.test('an unknown path is shown without its query', async (t) => {
    await (await edge.get('/agent/list?password=secret-value')).text()
    await page.goto(`${edge.operationsUrl}/console/#/requests?status=404`)
    await page.getByRole('rowheader', { name: 'GET /agent/list', exact: true }).waitFor()
    t.notMatch(await page.content(), 'secret-value')
  })

  await t.test('a filter by duration hides faster requests', async (t) => {
    await edge.simulator.faults.set('master', { delay: 400 })
    t.teardown(() => edge.simulator.faults.set('master', {}))
    await (await edge.get('/rules?limit=7')).text()
    await page.goto(`${edge.operationsUrl}/console/#/requests`)
    await page.getByLabel('Slower than').fill('400')
    await page.waitForURL(/slower=400/)
    await page.getByRole('rowheader', { name: 'GET /agent/list' }).waitFor({ state: 'detached' })
    await page.getByRole('rowheader', { name: 'GET /rules' }).waitFor()
    t.equal(await page.getByRole('rowheader', { name: 'GET /agent/list' }).count(), 0)
  })

  await t.test('a pause keeps list and position, also while another view is shown', async (t) => {
    for (let at = 0; at < 60; at++) await (await edge.get('/agents/000')).text()
    await page.goto(`${edge.operationsUrl}/console/#/requests?endpoint=agent_id`)
    const rows = page.locator('tbody tr')
    await rows.nth(59).waitFor()
    await page.getByRole('button', { name: 'Pause' }).click()
    const ids = await rows.locator('td:last-child').allInnerTexts()
    await page.evaluate('scrollTo(0, 400)')
    await (await edge.get('/agents/000')).text()
    await page.keyboard.press('3')
    await page.getByRole('rowheader', { name: /^master/ }).waitFor()
    await page.keyboard.press('4')
    await rows.nth(59).waitFor()
    t.strictSame(await rows.locator('td:last-child').allInnerTexts(), ids, 'no request is added')
    t.equal(await page.evaluate('Math.round(scrollY)'), 400)
    await page.getByRole('button', { name: 'Resume' }).click()
    await rows.nth(ids.length).waitFor()
    t.strictSame((await rows.locator('td:last-child').allInnerTexts()).slice(1), ids, 'the list continues')
  })

  await t.test('the export of the entries has all that match the filter', async (t) => {
    await page.goto(`${edge.operationsUrl}/console/#/cache/entries?search=agents/000`)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export Entries as JSON' }).click(),
    ])
    const entries = JSON.parse(await text(await download.createReadStream())) as Record<string, unknown>[]
    t.match(entries, [{ url: '/agents/000', group: 'agents', endpoint: '/agents/:agent_id' }])
    for (const [view, table] of [
      ['cache/groups', 'Groups'],
      ['nodes', 'Nodes'],
      ['nodes', 'Replicas'],
      ['nodes', 'Last joined responses'],
    ]) {
      await page.goto(`${edge.operationsUrl}/console/#/${view}`)
      const [saved] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `Export ${table} as CSV` }).click(),
      ])
      t.ok((await text(await saved.createReadStream())).split('\r\n').length > 2, `${table} has rows`)
    }
  })

  t.strictSame(complaints, [])
})
