/** Chromium for tests. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { installed } from '../../support/installed.ts'

/** Screenshots, for review by people, if the variable `SCREENSHOTS` is set. Ignored by git. */
const SCREENSHOT_FOLDER = 'coverage/console'
/** Long enough for a browser on busy cores. An event that never comes fails the test then. */
const TIMEOUT_MS = 120_000
const names = ['chromium', 'chromium-browser', 'google-chrome']
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
]

/** Throws an error with instructions if no browser is installed. */
export function startBrowser(): Promise<Browser> {
  const executablePath = installed({ variable: 'CHROMIUM', names, package: 'chromium' })
  return chromium.launch({ executablePath, args: flags })
}

/** Opens a context whose waits end after two minutes, not after Playwright's 30 s. */
export async function openContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  // Without transitions, so that colours are measured in their final state.
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options })
  context.setDefaultTimeout(TIMEOUT_MS)
  return context
}

export interface OpenedConsole {
  readonly page: Page
  /** Errors, violations of the content security policy, and requests to other hosts. */
  readonly complaints: string[]
  screenshot(name: string): Promise<void>
  close(): Promise<void>
}

export interface OpenOptions {
  readonly user?: string
  readonly dark?: boolean
  readonly width?: number
  readonly height?: number
  /** With a touch screen. */
  readonly touch?: boolean
}

/** Opens the console with a signed-in user. */
export async function openConsole(browser: Browser, url: string, options: OpenOptions = {}): Promise<OpenedConsole> {
  const { user = 'operator', dark = false, width = 1280, height = 800, touch = false } = options
  const context = await openContext(browser, {
    // As a proxy that signs operators in would send it. The page for signing in has its own tests.
    extraHTTPHeaders: { authorization: `Basic ${Buffer.from(`${user}:${user}-pw`).toString('base64')}` },
    colorScheme: dark ? 'dark' : 'light',
    viewport: { width, height },
    hasTouch: touch,
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => void complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      complaints.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) complaints.push(`request to another host: ${request.url()}`)
  })
  await page.goto(`${url}/console/`)
  await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
  return {
    page,
    complaints,
    screenshot: (name) => takeScreenshot(page, name),
    close: () => context.close(),
  }
}

/** Each takes a tenth of a second of CPU, so the suite takes none. */
export async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (process.env.SCREENSHOTS === undefined) return
  mkdirSync(SCREENSHOT_FOLDER, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOT_FOLDER, `${name}.png`) })
}

const axe = readFileSync('node_modules/axe-core/axe.min.js', 'utf8')

/**
 * Returns one line per violated rule of axe, with the elements. The content security policy of the page allows no
 * script element, so the script is evaluated.
 */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  // Reports only violations, and reads the style sheets, which no enabled rule needs, not again.
  return page.evaluate(`axe.run({ resultTypes: ['violations'], preload: false }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))`)
}
