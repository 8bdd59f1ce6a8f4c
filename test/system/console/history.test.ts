/** The charts of the console: ranges, replicas, values by pointer and keyboard, events, and their places on the screen. */
import type { Page } from 'playwright-core'
import t from 'tap'
import type { History } from '../../../packages/console/server/history-types.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { type ConsoleEdge, sendRequests, startConsoleEdge } from './edge.ts'

const authorizationOf = (edge: ConsoleEdge) => ({ authorization: edge.authorization('operator') })

async function readHistory(edge: ConsoleEdge, query: string): Promise<History> {
  const response = await fetch(`${edge.operationsUrl}/api/history?${query}`, { headers: authorizationOf(edge) })
  return (await response.json()) as History
}

/** Returns whether the history of `edge` has requests to a replica. */
async function hasRates(edge: ConsoleEdge, replica: string): Promise<boolean> {
  const { perSecond } = await readHistory(edge, `replica=${replica}`)
  return perSecond.some((rate) => (rate ?? 0) > 0)
}

t.test('charts of all replicas', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settingsOf = (name: string) => ({ cache: { redis: { url: redis.url } }, replica: { name } })
  const here = await startConsoleEdge(settingsOf('here'))
  t.teardown(() => here.close())
  const there = await startConsoleEdge(settingsOf('there'))
  t.teardown(() => there.close())
  await (await fetch(`${there.url}/cache/rules`, { method: 'DELETE', headers: authorizationOf(there) })).text()
  await eventually(async () => {
    for (const edge of [here, there]) await sendRequests(edge, 1)
    return (await hasRates(there, 'here')) && (await hasRates(there, 'there'))
  }, 60_000)
  t.match(await readHistory(there, ''), { range: '5m', source: 'redis', replicas: ['here', 'there'], self: 'there' })
  for (const query of ['from=1', 'range=24h'])
    t.match(await readHistory(there, query), { error: 900 }, `${query} is refused`)

  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, complaints, screenshot } = await openConsole(browser, there.operationsUrl, { width: 1440, height: 900 })
  const requests = page.getByRole('slider', { name: 'Requests per second' })
  const latency = page.getByRole('slider', { name: 'Latency' })
  const readout = (title: string) => page.locator('figure', { hasText: title }).locator('figcaption')

  await t.test('ranges and replicas are in the address', async (t) => {
    await page.getByRole('link', { name: '5 min', exact: true }).click()
    await page.waitForURL(/range=5m/)
    await page.locator('[aria-valuemax="29"]').first().waitFor()
    const choice = page.getByRole('combobox', { name: 'Replica' })
    t.strictSame(await choice.locator('option').allInnerTexts(), ['all (sum)', 'here', 'there (this one)'])
    await choice.selectOption('here')
    await page.waitForURL(/replica=here/)
    await page.getByRole('link', { name: '1 h', exact: true }).click()
    await page.locator('[aria-valuemax="359"]').first().waitFor()
    t.match(page.url(), /replica=here/)
    await choice.selectOption('')
    await page.getByRole('link', { name: '15 min', exact: true }).click()
    await page.locator('[aria-valuemax="89"]').first().waitFor()
  })

  await t.test('values are shown at the pointer and by keyboard, at the same time in all charts', async (t) => {
    const box = await requests.locator('.u-over').boundingBox()
    if (box === null) throw new Error('the chart has no plot')
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2)
    await page
      .locator('.chart-time', { hasText: /\d\d:\d\d:\d\d/ })
      .nth(3)
      .waitFor()
    const times = await page.locator('.chart-time').allInnerTexts()
    t.equal(new Set(times).size, 1, `one time in all charts: ${times}`)
    await page.mouse.move(0, 0)
    await page.locator('.chart-time', { hasText: /:/ }).waitFor({ state: 'detached' })

    await latency.focus()
    await page.keyboard.press('Home')
    await eventually(async () => (await latency.getAttribute('aria-valuenow')) === '0')
    t.match(await latency.getAttribute('aria-valuetext'), /^\d\d:\d\d:\d\d, p50 –, p99 –/)
    const { perSecond } = await readHistory(there, 'range=15m')
    await page.keyboard.press('End')
    const target = perSecond.findLastIndex((value) => (value ?? 0) > 0)
    for (let at = perSecond.length - 1; at > target; at--) await page.keyboard.press('ArrowLeft')
    // A new interval may have moved the requests to the left.
    for (let more = 0; more < 20; more++) {
      if (/p50 \d/.test((await latency.getAttribute('aria-valuetext')) ?? '')) break
      await page.keyboard.press('ArrowLeft')
    }
    t.match(await latency.getAttribute('aria-valuetext'), /p50 [\d.]+ m?s, p99 [\d.]+ m?s/)
    t.match(await readout('Requests per second').innerText(), /\d\d:\d\d:\d\d.*requests [\d.]+.*calls to nodes [\d.]+/s)
    await page.keyboard.press('Escape')
    await page.locator('.chart-time', { hasText: /:/ }).waitFor({ state: 'detached' })
  })

  await t.test('events and the hint are explained in words', async (t) => {
    const events = page.getByRole('region', { name: 'Events in the charts' })
    t.match(await events.innerText(), /Purge: a group\s+there.*Replica started\s+there.*Replica started\s+here/s)
    const button = page.getByRole('button', { name: 'What is manager time saved?' })
    await button.click()
    await page.getByText(/Divided by one second, this is the number of workers/).waitFor()
    t.equal(await button.getAttribute('aria-expanded'), 'true')
    t.match(await page.getByLabel(/^Last ten seconds/).innerText(), /Manager time saved.*workers?/s)
  })

  await t.test('figures and charts fill their rows at every width', async (t) => {
    for (const width of [390, 1024, 1440, 1920]) {
      await page.setViewportSize({ width, height: 900 })
      for (const [kind, item] of [
        ['.figures', '.figure'],
        ['.charts', '.chart'],
      ] as const) {
        t.strictSame(await unfilledRows(page, kind, item), [], `${kind} at ${width}`)
      }
      await screenshot(`history-${width}`)
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    t.strictSame(await accessibilityViolations(page), [])
  })

  await t.test('after Redis was unreachable, the page says which intervals lack the other replicas', async (t) => {
    await redis.kill()
    await page
      .getByText('Redis was unreachable for a part of this time. The charts have only this replica (there) then.')
      .waitFor({ timeout: 60_000 })
    t.equal(await page.getByRole('region', { name: 'History' }).locator('.chart').count(), 4)
    await screenshot('history-unreachable')
    t.strictSame(complaints, [])
  })
})

/** Returns the rows whose last item does not end where its container ends. */
function unfilledRows(page: Page, kind: string, item: string): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const right = document.querySelector('${kind}').getBoundingClientRect().right
    const ends = new Map()
    for (const each of document.querySelectorAll('${kind} > ${item}')) {
      const box = each.getBoundingClientRect()
      const row = Math.round(box.top)
      ends.set(row, Math.max(ends.get(row) ?? 0, box.right))
    }
    return [...ends].filter(([, end]) => Math.abs(right - end) > 3).map(([row, end]) => row + ' ends at ' + end + ' of ' + right)
  })()`)
}
