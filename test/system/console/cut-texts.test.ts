/** Texts that do not fit: each element that cuts its content leads to the whole text, by keyboard and by touch. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

const LONG_NAME = `edge-${'in-a-very-long-namespace-'.repeat(4)}1`
const LONG_QUERY = `/agents?limit=5&search=${'long-search-'.repeat(12)}end`
const LONG_PATH = `/unknown/${'segment-of-a-path/'.repeat(5)}end`

interface Cut {
  readonly text: string
  /** The element, as a person would name it. */
  readonly element: string
  /** What opens the whole text, or `scroll` if the content can be scrolled by keyboard. */
  readonly way?: 'link' | 'button' | 'row' | 'scroll'
}

/** Returns the elements whose content is wider or higher than they are. Elements for screen readers only are not seen. */
function cutElements(page: Page): Promise<Cut[]> {
  return page.evaluate<Cut[]>(`[...document.querySelectorAll('body *')].flatMap((element) => {
    const { overflowX, overflowY } = getComputedStyle(element)
    const isWide = overflowX !== 'visible' && element.scrollWidth > element.clientWidth
    const isHigh = overflowY !== 'visible' && element.scrollHeight > element.clientHeight + 1
    const isSeen = element.clientWidth > 1 && element.closest('.hidden, input, select') === null && element.checkVisibility()
    if (!isSeen || !(isWide || isHigh)) return []
    const scrolls = (!isWide || /auto|scroll/.test(overflowX)) && (!isHigh || /auto|scroll/.test(overflowY))
    const isFocusable = (each) => each.tabIndex >= 0
    const ways = { link: 'a[href]', button: 'button', row: '[role=row]' }
    const way = scrolls && (isFocusable(element) || [...element.querySelectorAll('*')].some(isFocusable))
      ? 'scroll'
      : Object.keys(ways).find((name) => element.closest(ways[name]) ?? element.querySelector(ways[name]))
    return [{ text: element.textContent, element: element.outerHTML.slice(0, 120), way }]
  })`)
}

t.test('a text that is cut off can be read as a whole', async (t) => {
  const edge = await startConsoleEdge({ replica: { name: LONG_NAME }, cache: { ttl: { agents: '10m' } } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)
  await (await edge.get(LONG_QUERY)).text()
  await (await edge.get('/cluster/*/info')).text()

  for (const width of [390, 768, 1024, 1440]) {
    const { page, complaints, screenshot, close } = await openConsole(browser, edge.operationsUrl, {
      width,
      touch: true,
    })
    const dialog = page.getByRole('dialog')
    const open = async (address: string) => {
      await page.goto(`${edge.operationsUrl}/console/#/${address}`)
      await page.reload()
      await page.waitForLoadState('networkidle')
    }
    // The list of requests has those that ended while the page is open.
    const list = {
      requests: { address: 'requests', row: page.locator('.tail tbody tr').filter({ hasText: '/unknown/' }).first() },
      entries: { address: 'cache/entries?search=long-search', row: page.locator('.grid-row').first() },
    }
    for (const address of [
      'now',
      'cache/groups',
      'cache/entries',
      'cache/snapshots',
      'cache/explain',
      'nodes',
      'requests',
    ]) {
      await open(address)
      if (address === 'requests') {
        await (await edge.get(LONG_PATH)).text()
        await list.requests.row.waitFor()
      }
      const cut = await cutElements(page)
      t.strictSame(
        cut.filter(({ way }) => way === undefined),
        [],
        `${width} px, ${address}: ${cut.length} elements are cut, all with a way to the whole text`,
      )
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${width} px, ${address}: fits`)
      await screenshot(`cut-texts-${address.replace('/', '-')}-${width}`)
    }
    t.match(await page.locator('.brand').innerText(), LONG_NAME, `${width} px: the whole name of the replica`)

    await open(list.entries.address)
    await list.entries.row.filter({ hasText: 'long-search-' }).waitFor()
    t.ok(
      (await cutElements(page)).some(({ text, way }) => way === 'row' && text.includes('long-search-')),
      `${width} px: the URL of the entry is cut`,
    )
    await page.getByRole('grid').focus()
    await page.keyboard.press('Enter')
    await dialog
      .getByText(/search=(long-search-)+end/)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await list.entries.row.tap()
    await dialog
      .getByText(/search=(long-search-)+end/)
      .first()
      .waitFor()
    for (const title of ['Size', 'Expires in', 'Fetch time']) await dialog.getByText(title, { exact: true }).waitFor()

    await open(list.requests.address)
    await (await edge.get(LONG_PATH)).text()
    await list.requests.row.waitFor()
    await list.requests.row.getByRole('link').focus()
    await page.keyboard.press('Enter')
    await dialog
      .getByText(/segment-of-a-path\/end/)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await list.requests.row.tap()
    await dialog
      .getByText(/segment-of-a-path\/end/)
      .first()
      .waitFor()
    t.strictSame(complaints, [])
    await close()
  }
})

/** Notes for each frame whether two rows overlap. A frame sees what the one before has painted. */
const WATCH_FRAMES = `
  overlaps = []
  const watch = () => {
    const boxes = [...document.querySelectorAll('.grid-row')].map((row) => row.getBoundingClientRect())
    overlaps.push(boxes.some(({ top }, at) => at > 0 && top < boxes[at - 1].bottom - 1))
    requestAnimationFrame(watch)
  }
  requestAnimationFrame(watch)`

t.test('on a narrow screen, an entry shows all of its values', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge)
  const { page, close } = await openConsole(browser, edge.operationsUrl, { width: 1440 })
  await page.goto(`${edge.operationsUrl}/console/#/cache/entries`)
  const rows = page.locator('.grid-row')
  await rows.first().waitFor()
  const wide = (await rows.first().boundingBox())?.height ?? 0
  await page.evaluate(WATCH_FRAMES)
  for (const width of [390, 768]) {
    await page.setViewportSize({ width, height: 844 })
    await eventually(async () => ((await rows.first().boundingBox())?.height ?? 0) > wide)
    const framesSince = await page.evaluate<number>('overlaps.length')
    await eventually(async () => (await page.evaluate<number>('overlaps.length')) > framesSince + 2)
    const cells = await page.evaluate<object[]>(`[...document.querySelector('.grid-row').children].map((cell) => ({
      title: getComputedStyle(cell, '::before').content,
      isWhole: cell.clientWidth > 0 && cell.scrollWidth <= cell.clientWidth,
    }))`)
    t.strictSame(
      cells,
      ['none', '"Group"', '"Size"', '"Age"', '"Expires in"', '"Hits"', '"Fetch time"'].map((title) => ({
        title,
        isWhole: true,
      })),
    )
  }
  t.notOk(await page.evaluate('overlaps.includes(true)'), 'the cards overlap in no frame while the width changes')
  await close()
})
