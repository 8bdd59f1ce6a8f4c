import t from 'tap'
import { openContext, startBrowser } from './browser.ts'
import { startConsoleEdge } from './edge.ts'

t.test('the console works when its address contains user and password', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const page = await (await openContext(browser)).newPage()
  const { host } = new URL(edge.operationsUrl)
  await page.goto(`http://operator:operator-pw@${host}/console/`)
  // The edge asks for no Basic credentials, so the browser does not send those of the address.
  await page.getByLabel('User name').fill('operator')
  await page.getByLabel('Password').fill('operator-pw')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('ready', { exact: true }).waitFor()
  await page.getByText('memory of this process').waitFor()
  t.equal(await page.getByText('unreachable').count(), 0)
})
