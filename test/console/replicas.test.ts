import t from 'tap'
import { startRedis } from '../redis.ts'
import { openConsole, startBrowser } from './browser.ts'
import { makeBusy, startConsoleEdge } from './edge.ts'

t.test('several replicas in one view, and what is not known of them', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = { cache: { redis: { url: redis.url } } }
  const [here, there] = [await startConsoleEdge(settings), await startConsoleEdge(settings)]
  t.teardown(() => Promise.all([here.close(), there.close()]))
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const client = redis.client()
  t.teardown(() => client.disconnect())
  // Whoever writes to Redis may write anything.
  await client.hset('edge:{o}:lines', 'evil', '{"name":"<img src=x onerror=alert(1)>","rates":null}')
  await client.zadd('edge:{o}:told', Date.now(), 'evil')

  const { page, complaints, picture } = await openConsole(browser, here.operationsUrl)
  await makeBusy(there, 2)
  await (await there.ask('/cluster/*/logs?limit=5')).text()
  await (await here.ask('/cluster/*/stats')).text()
  await page.goto(`${here.operationsUrl}/console/#/nodes`)
  const line = page.getByRole('region', { name: 'Replicas' }).locator('tbody tr')
  await line.getByText(/master up \d+\/4, worker-1 up/).waitFor()
  t.equal(await line.count(), 1, 'the other one, not this one, and nothing that is no replica')
  t.match(await line.innerText(), /ready/)
  const joined = page.getByRole('region', { name: 'Last joined answers' }).locator('tbody tr')
  await joined.filter({ hasText: 'GET /cluster/:node_ids/logs' }).getByText('5 of').first().waitFor()
  t.equal(await joined.count(), 2, 'of both')
  await picture('replicas')

  redis.pause()
  await page.getByText('what the other replicas do is not known').waitFor({ timeout: 30_000 })
  await page.getByText(/^Redis does not answer.*requests go to the nodes/).waitFor({ timeout: 30_000 })
  await picture('redis-away')
  redis.resume()
  await line.first().waitFor({ timeout: 30_000 })
  t.strictSame(complaints, [])
})
