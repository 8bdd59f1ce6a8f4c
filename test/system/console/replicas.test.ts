import t from 'tap'
import { createReplicas } from '../../../src/admin/console/replicas.ts'
import { startRedis } from '../../support/redis.ts'
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

t.test('replicas tell as many joined answers of many nodes as there is room for', async (t) => {
  const nodes = Array.from({ length: 100 }, (_, at) => ({ node: `worker-${at}`, rows: 5, total: 5000, ms: 12 }))
  const lineOf = (ago: number) => ({ ago, route: '/cluster/:node_ids/logs', ms: 40, nodes })
  const self = {
    name: 'one',
    version: '1.0.0',
    ready: () => true,
    rates: () => ({ perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }),
    nodes: () => nodes.map(({ node: name }) => ({ name, state: 'up' as const, inFlight: 0, limit: 4 })),
    joined: () => Array.from({ length: 20 }, (_, at) => lineOf(1000 * at)),
  }
  // What this one tells comes back as that of another, two seconds later.
  const replicas = createReplicas(self, async (text) => [{ text, ago: 2000 }])
  t.teardown(() => replicas.stop())
  await new Promise((resolve) => setImmediate(resolve))
  const [other] = replicas.others() ?? []
  t.equal(other?.nodes.length, 100, 'it is heard of')
  t.strictSame(other?.joined, [lineOf(2000)], 'with the newest of them')
})
