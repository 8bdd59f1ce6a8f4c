/** The Nodes view while nodes have different layouts. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { startConsoleEdge } from './edge.ts'

t.test('the Nodes view shows the layout of each node, and warns of a mixture', async (t) => {
  const edge = await startConsoleEdge({ cluster: { layout: 'auto' } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, complaints } = await openConsole(browser, edge.operationsUrl)
  await page.getByRole('link', { name: 'Nodes', exact: true }).click()
  await page.getByRole('rowheader', { name: /^master .*v3 layout$/ }).waitFor()
  t.equal(await page.getByText('Nodes have different layouts').count(), 0)

  edge.simulator.setLayout('master', 'v4')
  await eventually(async () => (await edge.get('/agents?limit=1&offset=3')).status === 200)
  await page.getByText(/Nodes have different layouts.*v3 worker-1, worker-2; v4 master/).waitFor()
  await page.getByRole('rowheader', { name: /^master .*v4 layout$/ }).waitFor()
  t.strictSame(await accessibilityViolations(page), [])
  t.strictSame(complaints, [])
})
