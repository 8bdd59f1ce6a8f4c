/** The view Cache shows how full the local tiers of all replicas and Redis are. */
import t from 'tap'
import { startRedis } from '../../support/redis.ts'
import { accessibilityViolations, openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge, ttl, urls } from './edge.ts'

t.test('used memory, limit, entries and evictions of each store', async (t) => {
  const redis = await startRedis({ args: ['--maxmemory', '64mb', '--maxmemory-policy', 'volatile-lru'] })
  t.teardown(() => redis.close())
  const edgeOf = (name: string) =>
    startConsoleEdge({ replica: { name }, cache: { ttl, localBytes: '32MiB', redis: { url: redis.url } } })
  const [here, there] = [await edgeOf('here'), await edgeOf('there')]
  t.teardown(() => Promise.all([here.close(), there.close()]))
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  await sendRequests(here, 1)
  const { page, complaints, screenshot } = await openConsole(browser, here.operationsUrl)
  await page.goto(`${here.operationsUrl}/console/#/cache/groups`)
  const region = page.getByRole('region', { name: 'Capacity' })
  const row = (name: RegExp) => region.getByRole('row', { name })
  await row(new RegExp(`^Local tier of here .*32 MiB ${urls.length} 0$`)).waitFor()
  await row(/^Local tier of there 0 B \(0 %\) 32 MiB 0 0$/).waitFor()
  // Redis is asked every 15 seconds.
  await row(new RegExp(`^Redis \\(volatile-lru\\) .*MiB \\(.* %\\) 64 MiB ${urls.length} 0$`)).waitFor({
    timeout: 30_000,
  })
  t.strictSame(await accessibilityViolations(page), [])
  await screenshot('capacity')
  t.strictSame(complaints, [])
})
