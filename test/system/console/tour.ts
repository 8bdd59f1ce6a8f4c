/** Every view of the console, and how to open it. Tests and `npm run screenshots` visit the same ones. */
import type { Page } from 'playwright-core'
import { accessibilityViolations } from './browser.ts'

export interface Stop {
  readonly name: string
  /** A part of the text of the page, on a screen of any width. */
  readonly shows?: RegExp
  /** Opens the view in a page that shows another one. Resolves when its data is shown. */
  open(page: Page, consoleUrl: string): Promise<void>
}

/** Opens a view by its address. */
function at(name: string, address: string, shown: (page: Page) => Promise<void>, shows?: RegExp): Stop {
  return {
    name,
    ...(shows && { shows }),
    open: async (page, consoleUrl) => {
      await page.goto(`${consoleUrl}#/${address}`)
      await shown(page)
    },
  }
}

/** Needs what `sendRequests` sends, a snapshot of the decoders, a joined response, and an operator who may drain nodes. */
export const tour: readonly Stop[] = [
  at(
    'now',
    'now?range=5m',
    async (page) => {
      await page.locator('.plot canvas').first().waitFor()
      await page.getByRole('region', { name: /^Nodes/ }).waitFor()
    },
    /Hit ratio/,
  ),
  at('groups', 'cache/groups', (page) => page.getByRole('row', { name: /^agents/ }).waitFor()),
  at('purge', 'cache/groups', async (page) => {
    await page.getByRole('button', { name: 'Purge the group agents' }).click()
    await page
      .getByRole('dialog')
      .getByText(/Refill cost/)
      .first()
      .waitFor()
  }),
  at('entries', 'cache/entries', async (page) => {
    await page.keyboard.press('Escape')
    await page.getByRole('row', { name: /\/agents\/000/ }).waitFor()
  }),
  at(
    'entry',
    'cache/entries',
    async (page) => {
      await page.getByRole('row', { name: /\/agents\/000/ }).click()
      await page.getByRole('dialog').locator('pre').waitFor()
    },
    /agents:read/,
  ),
  at('snapshots', 'cache/snapshots', async (page) => {
    await page.keyboard.press('Escape')
    await page.getByRole('row', { name: /\/decoders · all rows/ }).waitFor()
  }),
  at(
    'explain',
    'cache/explain',
    async (page) => {
      await page.getByRole('textbox').first().fill('/rules?limit=3')
      await page.getByRole('button', { name: 'Explain' }).click()
      await page.getByText('Invalidated by').waitFor()
    },
    /hit/,
  ),
  at(
    'nodes',
    'nodes',
    (page) =>
      page
        .getByRole('rowheader', { name: /^master/ })
        .first()
        .waitFor(),
    /GET \/cluster\/:node_ids\/info[\s\S]*connection refused/,
  ),
  at(
    'drain',
    'nodes',
    async (page) => {
      await page.getByRole('button', { name: 'Drain worker-1' }).click()
      await page
        .getByRole('dialog')
        .getByRole('row', { name: /^master/ })
        .waitFor()
    },
    /Expected load of this replica without worker-1/,
  ),
  at('requests', 'requests', async (page) => {
    await page.keyboard.press('Escape')
    await page
      .getByRole('rowheader', { name: /GET \/agents/ })
      .first()
      .waitFor()
  }),
  at('help', 'now', async (page) => {
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click()
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
  }),
]

/** Returns what is wrong with the shown view: violated rules of axe, and content that is wider than the page. */
export async function faultsOf(page: Page): Promise<string[]> {
  const violations = await accessibilityViolations(page)
  const [wide, room] = await page.evaluate<[number, number]>('[document.documentElement.scrollWidth, innerWidth]')
  return wide > room ? [...violations, `wider than the page: ${wide} of ${room} px`] : violations
}
