/** While no node answers, the console shows on every view that stored responses are served, and how old they are. */
import type { Locator } from 'playwright-core'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { startConsoleEdge } from './edge.ts'

/** So long that the age and the time since the end of the lifetime differ. */
const TTL = '2s'

t.test('a banner has the age of what is served in an outage, until the nodes answer again', async (t) => {
  const edge = await startConsoleEdge({ cache: { ttl: { agents: TTL }, staleIfError: '0s', outage: '8h' } })
  t.teardown(() => edge.close())
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, complaints, screenshot } = await openConsole(browser, edge.operationsUrl)
  const banner = page.locator('.problems[role=status]')
  const first = banner.locator('p').first()
  const cacheOf = async () => `${(await edge.get('/agents/001')).headers.get('cache-status')}`
  const ageOf = async () => Number((await edge.get('/agents/001')).headers.get('age'))
  await page
    .getByRole('region', { name: /^Nodes/ })
    .getByText('worker-1')
    .waitFor()
  t.equal(await banner.innerText(), '')

  await cacheOf()
  for (const { name } of edge.simulator.nodes) await edge.simulator.faults.set(name, { nodeDown: true })
  await eventually(
    async () => (await cacheOf()).includes('detail=outage') && (await first.innerText()).includes('The oldest one is'),
  )
  // The other problems of an outage would take the two places of a closed list.
  for (const name of ['Cache', 'Nodes', 'Requests', 'Now']) {
    await cacheOf()
    await page
      .getByRole('link', { name: new RegExp(`^${name}`) })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name }).waitFor()
    t.match(
      await first.innerText(),
      /Responses of before the outage are served.*The oldest one is \d.* old.*Writes fail/s,
      name,
    )
  }
  const served = await ageOf()
  await eventually(async () => (await ageOf()) >= 0 && (await ageIn(first)) >= served)
  t.ok((await ageIn(first)) <= (await ageOf()), 'the age is that of the response')
  const age = await ageIn(first)
  await eventually(async () => (await cacheOf()).includes('outage') && (await ageIn(first)) > age)
  t.strictSame(await accessibilityViolations(page), [])
  await screenshot('outage')

  await edge.simulator.faults.clear()
  await eventually(async () => {
    await cacheOf()
    return !(await banner.innerText()).includes('outage')
  })
  t.strictSame(complaints, [])
})

/** Returns the age of the oldest response in seconds, from the words of the banner: `1 min 5 s`. */
async function ageIn(banner: Locator): Promise<number> {
  const text = /The oldest one is (.*) old/.exec(await banner.innerText())?.[1] ?? ''
  const countOf = (unit: string) => Number(new RegExp(`(\\d+) ${unit}\\b`).exec(text)?.[1] ?? 0)
  return 60 * countOf('min') + countOf('s')
}
