/** Every view at three widths, with small and with large numbers: no text is cut, none covers another, and each link leads to a page. */
import type { Page } from 'playwright-core'
import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { drainAccess, sendRequests, startConsoleEdge, ttl } from './edge.ts'
import { tour } from './tour.ts'

/** Replaces the numbers that the page receives by large ones. History: test/system/console/chart-labels.test.ts. */
const ENLARGE = `
const HOURS = 86_399_000, BYTES = 1_072_693_248, COUNT = 9_999_999
const times = /^(?:ago|age|timeLeft|fetchTime|p50|p99|oldest|refillCost|uptime|saved|nodeTime|endsIn|ejectedFor|freshFor|ms|duration|time|savedPerSecond)$/
// Numbers of rows that the page fetches or lists, shares, points in time, and what is no amount.
const kept = /^(?:total|all|limit|maxKeys|replicas|hitRatio|share|at|since|until|status|id|clockAhead|maxReasonChars|offset)$/
const enlarge = (value, name = '') => {
  if (Array.isArray(value)) return value.map((each) => enlarge(each, name))
  if (value !== null && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, enlarge(each, key)]))
  if (typeof value !== 'number' || kept.test(name) || value > 1e11) return value
  return times.test(name) ? HOURS : /bytes|size/i.test(name) ? BYTES : COUNT
}
const { parse } = JSON
const { text } = Response.prototype
Response.prototype.json = async function () {
  const found = parse(await text.call(this))
  return this.url.includes('/api/history') ? found : enlarge(found)
}
JSON.parse = (source, ...more) => enlarge(parse(source, ...more))`

/**
 * Returns what is cut or covered. Texts that clients choose, which begin with a path, may be cut: test/system/console/cut-texts.test.ts
 * shows that each one can be read as a whole.
 */
function layoutFaults(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const top = document.querySelector('dialog[open]') ?? document.body
    // The head of a table is for screen readers only where rows are cards.
    const isShown = (element) => element.checkVisibility() && element.closest('.hidden, .skip, script, style') === null && (element.closest('thead')?.clientHeight ?? 2) > 1
    const nameOf = (element) => element.tagName.toLowerCase() + (element.className ? '.' + element.className : '') + ' "' + element.textContent.trim().slice(0, 60) + '"'
    const faults = []
    const isOfClient = (element) => element.closest('pre') !== null || /^(?:[A-Z]+ )?\\//.test(element.textContent)
    for (const element of top.querySelectorAll('*')) {
      if (!isShown(element) || element.clientWidth <= 1) continue
      const { overflowX, overflowY } = getComputedStyle(element)
      if (overflowX !== 'visible' && element.scrollWidth > element.clientWidth + 1 && !isOfClient(element)) faults.push('cut: ' + nameOf(element))
      if (overflowY === 'hidden' && overflowX === 'hidden' && element.scrollHeight > element.clientHeight + 1 && !isOfClient(element)) faults.push('cut below: ' + nameOf(element))
      if (element.tagName === 'SELECT') {
        const { font, paddingLeft, paddingRight } = getComputedStyle(element)
        const context = document.createElement('canvas').getContext('2d')
        context.font = font
        const arrow = 20
        const room = element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight) - arrow
        const shown = element.selectedOptions[0]?.text ?? ''
        if (context.measureText(shown).width > room + 1) faults.push('cut: select "' + shown + '"')
      }
      if (element.matches('dialog .buttons button')) {
        const { top: from, bottom } = element.getBoundingClientRect()
        const frame = element.closest('dialog').getBoundingClientRect()
        if (!element.closest('.drawer') && (from < frame.top || bottom > frame.bottom)) faults.push('outside of the dialog: ' + nameOf(element))
      }
    }
    // The visible box of each text: what an element around it does not cut.
    const boxes = []
    const walker = document.createTreeWalker(top, NodeFilter.SHOW_TEXT)
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const element = node.parentElement
      if (node.data.trim() === '' || !isShown(element) || element.closest('option, .uplot')) continue
      const range = document.createRange()
      range.selectNodeContents(node)
      const isCode = element.closest('.mono, pre, code, [role=gridcell]:first-child, .codes') !== null
      if (!isCode && /(?<![\\d.,:-])\\d{5,}/.test(node.data) && !node.data.includes('://')) faults.push('no separators: "' + node.data.trim() + '"')
      if (/^[\\d.,]+$/.test(node.data) && new Set([...range.getClientRects()].map((rect) => rect.top)).size > 1) faults.push('broken: "' + node.data + '"')
      for (const rect of range.getClientRects()) {
        const box = { left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom, node, text: node.data.trim().slice(0, 40) }
        for (let around = element; around !== null; around = around.parentElement) {
          const { overflowX, position } = getComputedStyle(around)
          if (overflowX !== 'visible' && around !== document.documentElement && around !== document.body) {
            const frame = around.getBoundingClientRect()
            Object.assign(box, { left: Math.max(box.left, frame.left), right: Math.min(box.right, frame.right), top: Math.max(box.top, frame.top), bottom: Math.min(box.bottom, frame.bottom) })
          }
        }
        // The line height reaches beyond the letters.
        const inset = (box.bottom - box.top) / 5
        if (box.right - box.left > 2 && box.bottom - box.top > 4) boxes.push({ ...box, top: box.top + inset, bottom: box.bottom - inset, isSticky: element.closest('.grid-top, .buttons') !== null })
      }
    }
    boxes.sort((a, b) => a.top - b.top)
    for (const [at, a] of boxes.entries()) {
      for (const b of boxes.slice(at + 1)) {
        if (b.top >= a.bottom) break
        if (a.isSticky !== b.isSticky || a.node === b.node) continue
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - b.top > 1) faults.push('covered: "' + a.text + '" and "' + b.text + '"')
      }
    }
    // Three nodes fill one row, or are one column.
    for (const list of top.querySelectorAll('.strip ul')) {
      const rows = Object.values(Object.groupBy([...list.children], (item) => item.getBoundingClientRect().top))
      const [first = [], ...others] = rows
      if (first.length > 1 && others.length === 1 && others[0].length < first.length && list.children.length <= 3) faults.push('empty place: ' + list.children.length + ' nodes in ' + rows.length + ' rows')
    }
    return [...new Set(faults)]
  })()`)
}

t.test('no text of a view is cut or covered, and each link leads to a page', async (t) => {
  const edge = await startConsoleEdge({ access: drainAccess, cache: { ttl } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge)
  await (await edge.get('/agents/999')).text()
  for (const limit of [4, 5]) await (await edge.get(`/decoders?limit=${limit}`)).text()
  await (await edge.get('/cluster/*/logs?limit=12&sort=-timestamp')).text()
  await edge.simulator.faults.set('worker-2', { nodeDown: true })
  await (await edge.get('/cluster/*/info')).text()

  const links = new Set<string>()
  for (const [width, height] of [
    [390, 844],
    [1024, 768],
    [1440, 900],
  ] as const) {
    for (const numbers of ['small', 'large'] as const) {
      const { page, complaints, screenshot, close } = await openConsole(browser, edge.operationsUrl, { width, height })
      if (numbers === 'large') {
        await page.addInitScript(ENLARGE)
        await page.reload()
      }
      for (const { name, open } of tour) {
        await open(page, `${edge.operationsUrl}/console/`)
        t.strictSame(await layoutFaults(page), [], `${name}, ${width} px, ${numbers} numbers`)
        await screenshot(`layout-${name}-${width}-${numbers}`)
        const found = await page.evaluate<string[]>('[...document.links].map(({ href }) => href)')
        for (const link of found) links.add(link)
      }
      t.strictSame(complaints, [])
      await close()
    }
  }

  const { page, close } = await openConsole(browser, edge.operationsUrl)
  const titles: Readonly<Record<string, string>> = { now: 'Now', cache: 'Cache', nodes: 'Nodes', requests: 'Requests' }
  for (const link of links) {
    const { hash } = new URL(link)
    t.ok(link.startsWith(edge.operationsUrl), link)
    if (hash === '' || hash === '#main') {
      const response = await page.request.get(link)
      t.equal(response.status(), 200, link)
      continue
    }
    await page.goto(link)
    const title = titles[/^#\/(\w+)/.exec(hash)?.[1] ?? '']
    t.ok(title, link)
    await page.getByRole('heading', { level: 1, name: title ?? '', exact: true }).waitFor({ state: 'attached' })
  }
  t.ok(links.size > 20, `${links.size} links`)
  await close()
})
