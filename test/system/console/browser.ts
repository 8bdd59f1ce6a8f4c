/** A real browser for tests. */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { installed } from '../../support/installed.ts'

/** Kept for people to look at; git ignores them. */
const PICTURES = 'coverage/console'
const names = ['chromium', 'chromium-browser', 'google-chrome']
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--disable-background-networking',
  '--disable-component-update',
  '--no-first-run',
]

/** Throws with instructions where there is none. */
export function startBrowser(): Promise<Browser> {
  const executablePath = installed({ variable: 'CHROMIUM', names, package: 'chromium' })
  return chromium.launch({ executablePath, args: flags })
}

export interface Opened {
  readonly page: Page
  /** What the page complained of: errors, refusals of its policy, requests to elsewhere. */
  readonly complaints: string[]
  picture(name: string): Promise<void>
  close(): Promise<void>
}

export interface OpenOptions {
  readonly user?: string
  readonly dark?: boolean
  readonly width?: number
  readonly height?: number
}

/** The console, signed in. */
export async function openConsole(browser: Browser, url: string, options: OpenOptions = {}): Promise<Opened> {
  const { user = 'operator', dark = false, width = 1280, height = 800 } = options
  const context = await browser.newContext({
    httpCredentials: { username: user, password: `${user}-pw` },
    colorScheme: dark ? 'dark' : 'light',
    viewport: { width, height },
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (fault) => void complaints.push(fault.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('Failed to load resource'))
      complaints.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) complaints.push(`asked elsewhere: ${request.url()}`)
  })
  await page.goto(`${url}/console/`)
  await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' })
  return {
    page,
    complaints,
    picture: async (name) => {
      mkdirSync(PICTURES, { recursive: true })
      await page.screenshot({ path: join(PICTURES, `${name}.png`) })
    },
    close: () => context.close(),
  }
}

const axe = readFileSync(new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** One line for each rule that is broken, and where. The policy of the page lets no script in, so it is evaluated. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  return page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')))`)
}
