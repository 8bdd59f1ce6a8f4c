/** The copy button where browsers offer no clipboard to pages, as over HTTP from another machine. */
import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

t.test('a command is copied without HTTPS, or selected if the browser refuses', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)
  const { page, complaints } = await openConsole(browser, edge.operationsUrl)
  await page.context().grantPermissions(['clipboard-read'])
  // Such a page has no navigator.clipboard. The text that execCommand copied is read with the original one.
  await page.evaluate(`{
    const original = navigator.clipboard
    window.readCopied = () => original.readText()
    Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })
  }`)
  await page.evaluate("location.hash = '#/cache/groups'")
  await page.getByRole('button', { name: 'Purge the group rules' }).click()
  const dialog = page.getByRole('dialog')
  const command = await dialog.locator('code').innerText()
  await dialog.getByRole('button', { name: 'Copy' }).click()
  await dialog.getByRole('button', { name: 'Copied' }).waitFor()
  t.equal(await page.evaluate('readCopied()'), command)

  await page.evaluate('document.execCommand = () => false')
  await dialog.getByRole('button', { name: 'Copied' }).click()
  await dialog.getByText('copy it with Ctrl+C').waitFor()
  t.equal(await page.evaluate('getSelection().toString()'), command, 'the text is selected')
  t.strictSame(complaints, [])
})
