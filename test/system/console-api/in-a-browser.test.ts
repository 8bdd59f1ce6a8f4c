/** The smallest form of test/system/console: the built page in a browser. */
import t from 'tap'
import { openContext, startBrowser } from '../console/browser.ts'
import { startConsoleEdge } from '../console/edge.ts'

t.test('an operator signs in and sees the nodes, also if the address contains user and password', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const page = await (await openContext(browser)).newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => void complaints.push(error.message))
  page.on('console', (message) => {
    // Before the sign-in, the API answers 401.
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      complaints.push(message.text())
  })
  const { host } = new URL(edge.operationsUrl)
  await page.goto(`http://operator:operator-pw@${host}/console/`)
  // The edge asks for no Basic credentials, so the browser does not send those of the address.
  await page.getByLabel('User name').fill('operator')
  await page.getByLabel('Password').fill('operator-pw')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('ready', { exact: true }).waitFor()
  await page.getByText('memory of this process').waitFor()
  t.equal(await page.getByText('unreachable').count(), 0)
  await page.getByRole('link', { name: 'Nodes', exact: true }).click()
  await page.getByRole('rowheader', { name: /^worker-1/ }).waitFor()
  t.strictSame(complaints, [], 'no error, and nothing that the content security policy forbids')
})
