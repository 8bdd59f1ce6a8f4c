import t from 'tap'
import { startSignInEdge } from '../sign-in/edge.ts'
import { startIssuer } from '../sign-in/issuer.ts'
import { accessibilityViolations, openContext, startBrowser, takeScreenshot } from './browser.ts'
import { buildPage } from './edge.ts'

t.test('an operator signs in at an issuer, sees the roles, and signs out', async (t) => {
  buildPage()
  const issuer = await startIssuer(t)
  const edge = await startSignInEdge(t, { issuer })
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const context = await openContext(browser, { viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => void complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      complaints.push(message.text())
  })
  const shoot = (name: string) => takeScreenshot(page, name)

  await page.goto(`${edge.operationsUrl}/console/`)
  // The first field gets the focus, which Chromium may give it only after `goto` has returned.
  await page.locator('[name="name"]:focus').waitFor()
  await page.keyboard.type('operator')
  t.equal(await page.getByLabel('User name').inputValue(), 'operator')
  await page.getByLabel('Password').fill('wrong')
  await shoot('sign-in')
  t.strictSame(await accessibilityViolations(page), [])
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('User name or password is wrong.').waitFor()
  t.equal(await page.getByLabel('User name').inputValue(), 'operator', 'the name stays after a wrong password')
  t.equal(await page.locator(':focus').getAttribute('name'), 'password', 'and the password is next')
  await shoot('sign-in-wrong')

  await page.getByRole('link', { name: /^Sign in with 127/ }).click()
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByRole('button', { name: /^olga/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('operator', { exact: true }).waitFor()
  await shoot('account')
  t.strictSame(await accessibilityViolations(page), [])
  await dialog.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out.').waitFor()
  t.equal(issuer.ended.length, 1, 'the session of the issuer has ended too')
  await page.goto(`${edge.operationsUrl}/console/`)
  await page.getByLabel('User name').waitFor()

  issuer.claims = { ...issuer.claims, groups: ['audit'] }
  await page.getByRole('link', { name: /^Sign in with 127/ }).click()
  await page.getByRole('link', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'No access' }).waitFor()
  await page.getByText('Roles: reader').waitFor()
  await page.setViewportSize({ width: 390, height: 700 })
  await page.emulateMedia({ colorScheme: 'dark' })
  await shoot('no-access')
  t.strictSame(await accessibilityViolations(page), [])
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out.').waitFor()
  await shoot('signed-out')
  t.equal(issuer.ended.length, 2)
  t.strictSame(complaints, [])
})

t.test('the console leads back to its view when the session has ended', async (t) => {
  buildPage()
  const edge = await startSignInEdge(t)
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const context = await openContext(browser)
  const page = await context.newPage()
  await page.goto(`${edge.operationsUrl}/console/`)
  const signIn = async (): Promise<void> => {
    await page.getByLabel('User name').fill('operator')
    await page.getByLabel('Password').fill('operator-pw')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: /^operator/ }).waitFor()
  }
  await signIn()
  await page.goto(`${edge.operationsUrl}/console/#/nodes`)
  await context.clearCookies()
  await page.getByRole('link', { name: 'Sign in' }).click()
  await signIn()
  t.match(page.url(), /\/console\/#\/nodes$/)
})
