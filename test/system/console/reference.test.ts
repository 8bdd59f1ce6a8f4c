/** The reference pages of both contracts in a browser. */
import t from 'tap'
import { errorTable } from '../../../src/core/errors.ts'
import { startEdge } from '../../support/edge.ts'
import { accessibilityViolations, openContext, startBrowser, takeScreenshot } from './browser.ts'

const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const

t.test('the reference page shows permission, target and cache policy, and contacts only the edge', async (t) => {
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const context = await openContext(browser, {
    extraHTTPHeaders: { authorization: edge.authorization('operator') },
    colorScheme: 'dark',
    viewport: { width: 360, height: 800 },
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => void complaints.push(message.text()))
  page.on('pageerror', (error) => void complaints.push(error.message))
  page.on('requestfailed', (request) => void complaints.push(request.url()))
  page.on('request', (request) => {
    if (!request.url().startsWith(edge.operationsUrl)) complaints.push(`another host: ${request.url()}`)
  })
  await page.goto(`${edge.operationsUrl}/docs`)
  await page.getByText('Errors of the manager have HTTP status 200').waitFor()
  await takeScreenshot(page, 'reference')
  await page.getByText('Errors of the edge').click()
  t.equal(await page.getByRole('cell', { name: 'Too many failed logins' }).count(), 1, 'the table of errors')
  const { status, message, remedy } = errorTable[612]
  t.equal(await page.getByRole('row', { name: `612 ${status} ${message} ${remedy}` }).count(), 1, 'with remedies')
  await page.getByText('Errors of the edge').click()

  await page.getByRole('heading', { name: /^Agents/ }).click()
  for (const name of ['getAgents', 'postAgents', 'deleteAgents'])
    await page.locator(`#operations-Agents-${name} .opblock-summary`).click()
  await page.locator('#operations-Agents-postAgents').getByText('"name": "web-1"').waitFor()
  const operation = page.locator('#operations-Agents-getAgents')
  await operation.getByText('x-permission').waitFor()
  const text = await operation.innerText()
  t.match(text, /Permission: agents:read/)
  t.match(text, /Target: the master, or a worker/)
  t.match(text, /Cache: group agents, shared by all callers/)
  t.match(text, /curl -u "\$EDGE_USER" "\$EDGE"'\/agents\?limit=5'/)
  t.match(text, /x-permission\s+"agents:read"/)
  t.match(text, /x-target\s+\{"kind":"master"/)
  t.match(text, /x-cache\s+\{"group":"agents"/)
  await operation.scrollIntoViewIfNeeded()
  // One page for both modes: a browser needs many seconds for the document.
  for (const [colorScheme, width] of [
    ['dark', 360],
    ['light', 1280],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    await takeScreenshot(page, `reference-operation-${colorScheme}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    t.equal(overflow, 0, `nothing is wider than ${width} pixels`)
    const isDark = await page.evaluate('document.documentElement.classList.contains("dark-mode")')
    t.equal(isDark, colorScheme === 'dark', 'the colours are those that the reader prefers')
    t.strictSame(await accessibilityViolations(page), [], `accessible in ${colorScheme} colours`)
  }
  t.strictSame(complaints, [], 'no violation of the content security policy, no failed request, no other host')
})

t.test('the pages of the two contracts link to each other', async (t) => {
  const edge = await startEdge({ nodes })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const context = await openContext(browser, { extraHTTPHeaders: { authorization: edge.authorization('operator') } })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => void complaints.push(message.text()))
  page.on('pageerror', (error) => void complaints.push(error.message))
  await page.goto(`${edge.operationsUrl}/docs`)
  const links = page.getByRole('navigation', { name: 'Contracts' })
  await links.getByRole('link', { name: /^Releases 4\.x/ }).click()
  await page.getByText('Log in with a name and a password').waitFor()
  t.equal(new URL(page.url()).pathname.replace(/\/$/, ''), '/docs-v4')
  t.match(await links.locator('[aria-current]').innerText(), /^Releases 4\.x/)
  await page.getByRole('heading', { name: /^Cache/ }).click()
  await page.locator('#operations-Cache-getCacheExplain .opblock-summary').click()
  await page.locator('#operations-Cache-getCacheExplain').getByText('x-permission').waitFor()
  for (const [colorScheme, width] of [
    ['dark', 360],
    ['light', 1280],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 800 })
    await page.evaluate('scrollTo(0, 0)')
    await takeScreenshot(page, `reference-v4-${colorScheme}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    t.equal(overflow, 0, `nothing is wider than ${width} pixels`)
  }
  t.strictSame(await accessibilityViolations(page), [])
  t.strictSame(complaints, [])
})
