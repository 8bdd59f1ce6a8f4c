import { mkdirSync } from 'node:fs'
import t from 'tap'
import { startEdge } from '../../support/edge.ts'
import { accessibilityFaults, startBrowser } from '../../system/console/browser.ts'

t.test('the page of all endpoints can be read without scripts, in the dark and on a narrow screen', async (t) => {
  const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  mkdirSync('coverage/console', { recursive: true })
  for (const [colorScheme, width] of [
    ['dark', 360],
    ['light', 1280],
  ] as const) {
    const context = await browser.newContext({
      httpCredentials: { username: 'operator', password: 'operator-pw' },
      javaScriptEnabled: false,
      colorScheme,
      viewport: { width, height: 800 },
    })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => void complaints.push(message.text()))
    page.on('requestfailed', (request) => void complaints.push(request.url()))
    await page.goto(`${edge.operationsUrl}/docs`)
    t.equal(await page.getByRole('link', { name: 'Errors of the edge' }).count(), 1)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    t.equal(overflow, 0, `nothing is wider than ${width} pixels`)
    const ground = String(await page.evaluate('getComputedStyle(document.body).backgroundColor'))
    t.equal(ground, colorScheme === 'dark' ? 'rgb(22, 22, 22)' : 'rgb(255, 255, 255)', 'the style is applied')
    await page.screenshot({ path: `coverage/console/docs-${colorScheme}.png` })
    t.strictSame(complaints, [])
    await context.close()
  }
  const context = await browser.newContext({
    httpCredentials: { username: 'operator', password: 'operator-pw' },
    colorScheme: 'dark',
    viewport: { width: 360, height: 800 },
  })
  const page = await context.newPage()
  await page.goto(`${edge.operationsUrl}/docs`)
  t.strictSame(await accessibilityFaults(page), [])
})
