import t from 'tap'
import { openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

t.test('the console can be used by keyboard alone', async (t) => {
  const edge = await startConsoleEdge()
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(edge, 1)
  const { page, screenshot, close } = await openConsole(browser, edge.operationsUrl)
  t.teardown(close)
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }
  const focused = () =>
    page.evaluate<string>(
      "(document.activeElement?.innerText || document.activeElement?.getAttribute('aria-label') || '').trim()",
    )
  const outline = () => page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle')

  await press('Tab')
  t.equal(await focused(), 'Skip to content')
  t.equal(await outline(), 'solid', 'the focus is visible')
  await press('Enter')
  t.equal(await page.evaluate('document.activeElement.id'), 'main')

  await press('?')
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  await press('1')
  t.equal(await page.getByRole('dialog').count(), 1, 'shortcuts do nothing while a dialog is open')
  await press('Escape')
  t.equal(await page.getByRole('dialog').count(), 0)

  await press('2')
  await page.getByRole('heading', { name: 'Cache' }).waitFor()
  await page.getByRole('row', { name: /^agents / }).waitFor()
  await page.getByRole('link', { name: 'Entries' }).focus()
  await press('Enter')
  await page.getByLabel('Search').waitFor()
  await page.getByRole('row', { name: /\/rules/ }).waitFor()
  await press('/')
  await page.keyboard.type('1')
  t.equal(await page.getByLabel('Search').inputValue(), '1', 'shortcuts do nothing during typing')
  await press('Backspace')
  await page.getByRole('row', { name: /\/agents\/000/ }).waitFor()

  const role = () => page.evaluate<string | null>("document.activeElement.getAttribute('role')")
  for (let at = 0; at < 20 && (await role()) !== 'grid'; at++) await press('Tab')
  t.equal(await role(), 'grid', 'Tab reaches the table')
  const active = async () =>
    page.evaluate<string>(
      "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))?.innerText ?? ''",
    )
  t.match(await active(), '/agents/000')
  await press('ArrowDown')
  t.match(await active(), '/agents?limit=5')
  await press('End')
  t.match(await active(), '/summary/agents')
  await press('Home')
  t.match(await active(), '/agents/000')
  await screenshot('keyboard')
  await press('Enter')
  await page.getByRole('dialog', { name: '/agents/000' }).waitFor()
  await page.getByRole('button', { name: 'Purge …' }).waitFor()
  await press('Escape')
  t.equal(await role(), 'grid', 'the focus returns to the table')

  await press('4')
  await page.getByText('live', { exact: true }).waitFor()
  await press('p')
  await page.getByText('paused', { exact: true }).waitFor()
  const theme = () => page.evaluate('document.documentElement.dataset.theme')
  await press('t')
  t.equal(await theme(), 'dark')
  await press('t')
  t.equal(await theme(), 'light')
})
