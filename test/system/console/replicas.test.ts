import t from 'tap'
import { readReplicas } from '../../../packages/console/server/reported-replicas.ts'
import { Replicas } from '../../../src/status/replicas.ts'
import { startRedis } from '../../support/redis.ts'
import { openConsole, startBrowser } from './browser.ts'
import { sendRequests, startConsoleEdge } from './edge.ts'

t.test('the console shows the other replicas, and says if Redis is unreachable', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = { cache: { redis: { url: redis.url } } }
  const [here, there] = [await startConsoleEdge(settings), await startConsoleEdge(settings)]
  t.teardown(() => Promise.all([here.close(), there.close()]))
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const client = redis.client()
  t.teardown(() => client.disconnect())
  // Other programs may write anything to Redis.
  await client.hset('edge:{o}:lines', 'evil', '{"name":"<img src=x onerror=alert(1)>","rates":null}')
  await client.zadd('edge:{o}:told', Date.now(), 'evil')

  const { page, complaints, screenshot } = await openConsole(browser, here.operationsUrl)
  await sendRequests(there, 2)
  await (await there.get('/cluster/*/logs?limit=5')).text()
  await (await here.get('/cluster/*/stats')).text()
  await page.goto(`${here.operationsUrl}/console/#/nodes`)
  const line = page.getByRole('region', { name: 'Replicas' }).locator('tbody tr')
  await line.nth(1).getByText('all 3 up').waitFor()
  t.equal(await line.count(), 2, 'one row for each replica, and none for the invalid report')
  t.match(await line.first().innerText(), /this replica.*ready/s)
  await page.getByRole('row', { name: /^All 2 replicas.*2 ready/ }).waitFor()
  const joined = page.getByRole('region', { name: 'Last joined responses' }).locator('tbody tr')
  await joined.filter({ hasText: 'GET /cluster/:node_ids/logs' }).getByText('5 of').first().waitFor()
  t.equal(await joined.count(), 2, 'joined responses of both replicas')
  await screenshot('replicas')

  redis.pause()
  await page.getByText('the state of the other replicas is unknown').waitFor({ timeout: 30_000 })
  await page
    .getByText(/Redis is (?:slow|unreachable).*All reads go to the nodes/s)
    .first()
    .waitFor({ timeout: 30_000 })
  await screenshot('redis-unreachable')
  redis.resume()
  await line.first().waitFor({ timeout: 30_000 })
  t.strictSame(complaints, [])
})

t.test('a report contains as many joined responses as fit into its size limit', async (t) => {
  const nodes = Array.from({ length: 100 }, (_, at) => ({ node: `worker-${at}`, rows: 5, total: 5000, ms: 12 }))
  const joinedResponse = (ago: number) => ({ ago, route: '/cluster/:node_ids/logs', ms: 40, nodes })
  const self = {
    name: 'one',
    version: '1.0.0',
    ready: () => true,
    draining: () => false,
    contact: () => ({}),
    local: () => undefined,
    rates: () => ({ perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }),
    nodes: () => nodes.map(({ node: name }) => ({ name, state: 'up' as const, inFlight: 0, limit: 4 })),
    joined: () => Array.from({ length: 20 }, (_, at) => joinedResponse(1000 * at)),
    nodeList: { lastRead: () => undefined, offer: () => undefined },
    costs: { report: () => ({}), offer: () => undefined },
    settings: { report: () => ({}), offer: () => undefined },
    events: { report: () => [], offer: () => undefined },
  }
  // The report of this replica returns as the report of another, two seconds later.
  const replicas = new Replicas(async (text) => [{ text, ago: 2000 }])
  t.teardown(() => replicas.stop())
  replicas.report(self)
  replicas.add(self)
  replicas.publish()
  await new Promise((resolve) => setImmediate(resolve))
  const [other] = readReplicas({ replicas: replicas.others })?.() ?? []
  t.equal(other?.nodes.length, 100, 'its nodes are listed')
  const newest = Array.from({ length: 10 }, (_, at) => joinedResponse(2000 + 1000 * at))
  t.strictSame(other?.joined, newest, 'only the newest joined responses fit')
})
