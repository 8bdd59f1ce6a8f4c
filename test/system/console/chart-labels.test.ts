/** The labels of the charts, as they are drawn: whole, and apart from each other, whatever the values and the width. */
import type { Page } from 'playwright-core'
import t from 'tap'
import type { History } from '../../../packages/console/server/history-types.ts'
import { openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

/** Notes the box of each text that a canvas shows, in its pixels. uPlot clears the whole canvas before it draws. */
const NOTE_TEXTS = `
const { fillText, clearRect } = CanvasRenderingContext2D.prototype
Object.assign(CanvasRenderingContext2D.prototype, {
  clearRect(...box) {
    this.canvas.drawnTexts = []
    return clearRect.apply(this, box)
  },
  fillText(text, x, y, ...more) {
    const size = this.measureText(text)
    const { x: left, y: top } = this.getTransform().transformPoint({ x: x - size.actualBoundingBoxLeft, y: y - size.actualBoundingBoxAscent })
    const width = size.actualBoundingBoxLeft + size.actualBoundingBoxRight
    const height = size.actualBoundingBoxAscent + size.actualBoundingBoxDescent
    if (text !== '') (this.canvas.drawnTexts ??= []).push({ text, left, top, right: left + width, bottom: top + height })
    return fillText.call(this, text, x, y, ...more)
  },
})`

interface DrawnText {
  readonly text: string
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

interface DrawnChart {
  readonly title: string
  readonly width: number
  readonly height: number
  readonly texts: readonly DrawnText[]
}

function readCharts(page: Page): Promise<DrawnChart[]> {
  return page.evaluate<DrawnChart[]>(`[...document.querySelectorAll('.chart')].map((chart) => {
    const { width, height, drawnTexts } = chart.querySelector('canvas')
    return { title: chart.querySelector('.chart-title').textContent, width, height, texts: drawnTexts }
  })`)
}

/** Returns the labels that are cut off, and those that overlap another one. */
function faultsOf({ title, width, height, texts }: DrawnChart): string[] {
  const cut = texts.filter(({ left, top, right, bottom }) => left < 0 || top < 0 || right > width || bottom > height)
  const overlap = texts.flatMap((one, at) =>
    texts.slice(at + 1).flatMap((other) => {
      const isApart =
        one.right < other.left || other.right < one.left || one.bottom < other.top || other.bottom < one.top
      return isApart ? [] : [`${one.text} and ${other.text}`]
    }),
  )
  return [...cut.map(({ text }) => `${title}: ${text} is cut`), ...overlap.map((both) => `${title}: ${both} overlap`)]
}

type Values = (column: keyof History, at: number) => number | null

/** The responses of the edge with other values and with an event of each kind close to the others. */
function withValues(history: History, values: Values): History {
  const { at, interval } = history
  const columns = (Object.keys(history) as (keyof History)[]).filter(
    (name) => name !== 'at' && Array.isArray(history[name]) && history[name].length === at.length,
  )
  const kinds = ['start', 'purge', 'ejection', 'reload', 'drain', 'return'] as const
  const events = [0.1, 0.5, 0.99].flatMap((share) =>
    kinds.map((kind, index) => {
      const seconds = (at[Math.floor(share * at.length)] ?? 0) + (index * interval) / 1000
      return { kind, at: seconds * 1000, replica: 'one' }
    }),
  )
  const changed = columns.map((name) => [name, at.map((_, index) => values(name, index))])
  return { ...history, ...Object.fromEntries(changed), events }
}

const kinds: Readonly<Record<string, Values>> = {
  none: () => null,
  small: (column, at) => (column === 'hitRatio' ? 0.001 : 0.0031 * (1 + (at % 7))),
  usual: (column, at) => (column === 'hitRatio' ? 0.97 : 12.5 * (1 + (at % 7))),
  huge: (column, at) => (column === 'hitRatio' ? 1 : 1_234_567_890_123 / 10 ** (at % 17)),
}

t.test('no label of a chart is cut off or overlaps another one', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)
  for (const width of [390, 1024, 1440]) {
    const { page, complaints, screenshot, close } = await openConsole(browser, edge.operationsUrl, { width })
    await page.addInitScript(NOTE_TEXTS)
    for (const [kind, values] of Object.entries(kinds)) {
      await page.route('**/api/history?**', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, json: withValues((await response.json()) as History, values) })
      })
      for (const range of ['5m', '15m', '1h']) {
        await page.goto(`${edge.operationsUrl}/console/#/now?range=${range}`)
        await page.reload()
        await page.locator('.plot canvas').nth(3).waitFor()
        const charts = await readCharts(page)
        t.strictSame(charts.flatMap(faultsOf), [], `${width} px, ${kind} values, ${range}`)
        for (const { title, texts } of charts) {
          const times = texts.filter(({ text }) => /^\d\d:\d\d/.test(text))
          const others = texts.filter((text) => !times.includes(text))
          t.ok(times.length > 1, `${width} px, ${range}, ${title}: ${times.length} times`)
          t.ok(others.length > 1, `${width} px, ${range}, ${title}: ${others.length} values and marks`)
        }
      }
      await screenshot(`chart-labels-${width}-${kind}`)
      await page.unroute('**/api/history?**')
    }
    t.strictSame(complaints, [])
    await close()
  }
})
