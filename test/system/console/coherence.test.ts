/** The check of coherence among replicas with one Redis: its API, its audit record, and its button. */
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { Coherence } from '../../../src/admin/console/cache-types.ts'
import { redisChannels } from '../../../src/redis/options.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { openConsole, startBrowser } from './browser.ts'
import { drainAccess, SIMULATED_PASSWORD, startConsoleEdge } from './edge.ts'
import { faultsOf } from './tour.ts'

const access = {
  roles: { operator: ['operator', 'purger'], reader: ['watcher'] },
  customRoles: { purger: ['cache:purge'], watcher: ['operations:read'] },
}

async function start(t: Test) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settingsOf = (name: string) => ({ access, replica: { name }, cache: { redis: { url: redis.url } } })
  const here = await startConsoleEdge(settingsOf('edge-1'))
  t.teardown(() => here.close())
  const { nodes } = here.simulator
  const there = await startEdge({ nodes, password: SIMULATED_PASSWORD, settings: settingsOf('edge-2') })
  t.teardown(() => there.close())
  for (const edge of [here, there]) await eventually(async () => (await othersOf(edge)) === 1)
  return { redis, here, there }
}

async function othersOf({ operationsUrl, authorization }: RunningEdge): Promise<number> {
  const response = await fetch(`${operationsUrl}/api/nodes`, { headers: { authorization: authorization('admin') } })
  return ((await response.json()) as { readonly replicas: readonly unknown[] | null }).replicas?.length ?? 0
}

async function check({ operationsUrl, authorization }: RunningEdge, user = 'operator', header = '1') {
  const headers = { authorization: authorization(user), 'x-edge-console': header }
  const response = await fetch(`${operationsUrl}/api/coherence`, { method: 'POST', headers })
  return { status: response.status, body: (await response.json()) as Coherence }
}

const auditedIn = ({ logged }: RunningEdge) => logged.filter((line) => line.includes('/api/coherence'))

t.test('replicas check their coherence', async (t) => {
  const { redis, here, there } = await start(t)
  const writes = () => here.simulator.seen.filter(({ method }) => method !== 'GET').length
  const before = writes()

  await t.test('both replicas see each invalidation at once', async (t) => {
    const [first, second] = await Promise.all([check(here), check(there)])
    for (const { status, body } of [first, second]) {
      t.equal(status, 200)
      t.match(body, { rounds: 10, missing: [], failure: undefined }, JSON.stringify(body))
      t.strictSame(body.replicas.map(({ replica }) => replica).toSorted(), ['edge-1', 'edge-2'])
      for (const { reads, stale, medianDelayMs = 0, maxDelayMs = 0 } of body.replicas) {
        t.equal(stale, 0)
        t.ok(reads >= 50, 'five reads in each round')
        t.ok(medianDelayMs > 0 && medianDelayMs <= maxDelayMs, JSON.stringify(body))
      }
    }
    t.equal(writes(), before, 'the manager receives no write')
    const records = auditedIn(here).map((line) => JSON.parse(JSON.parse(line).line))
    t.match(records, [
      { kind: 'intent', caller: 'operator', method: 'POST' },
      { kind: 'outcome', outcome: 'done' },
    ])
  })

  await t.test('a check needs the permission to purge, and a request of the console', async (t) => {
    t.equal((await check(here, 'reader')).status, 403)
    t.equal((await check(here, 'admin')).status, 200)
    const { operationsUrl, authorization } = here
    const headers = { authorization: authorization('operator') }
    t.equal((await fetch(`${operationsUrl}/api/coherence`, { method: 'POST', headers })).status, 403, 'of another site')
    t.equal((await fetch(`${operationsUrl}/api/coherence`, { method: 'POST' })).status, 401)
  })

  await t.test('other messages on the channel change nothing', async (t) => {
    const client = redis.client()
    t.teardown(() => client.disconnect())
    for (const text of ['', 'null', '{"call":1}', `{"call":"a","from":"b","request":{"kind":"${'x'.repeat(5000)}"}}`])
      await client.publish(redisChannels.calls, text)
    await client.publish(redisChannels.calls, '{"call":"a","from":"b","request":{"kind":"read","entry":null}}')
    t.match((await check(here)).body, { rounds: 10, missing: [] })
  })

  await t.test('a replica that does not answer is named', async (t) => {
    await there.close()
    // Its last report is known for some seconds.
    const { status, body } = await check(here)
    t.equal(status, 200)
    t.match(body, { rounds: 10, missing: ['edge-2'], replicas: [{ replica: 'edge-1', stale: 0 }] })
  })
})

t.test('without Redis there is nothing to check', async (t) => {
  const edge = await startConsoleEdge({ access: drainAccess })
  t.teardown(() => edge.close())
  t.equal((await check(edge, 'admin')).status, 404)
})

t.test('the page about replicas has a button for the check', async (t) => {
  const { here } = await start(t)
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const open = async (options: Parameters<typeof openConsole>[2]) => {
    const opened = await openConsole(browser, here.operationsUrl, options)
    await opened.page.goto(`${here.operationsUrl}/console/#/nodes`)
    return { ...opened, section: opened.page.getByRole('region', { name: 'Coherence', exact: true }) }
  }
  for (const options of [{ width: 1440 }, { width: 390, height: 844, dark: true }]) {
    const { page, section, complaints, screenshot, close } = await open(options)
    const button = section.getByRole('button', { name: /^Check/ })
    await button.focus()
    await page.keyboard.press('Enter')
    await section.getByText('10 rounds through 2 replicas: 0 stale reads.').waitFor()
    const row = section.getByRole('row', { name: /^edge-2/ })
    t.match(await row.innerText(), /^edge-2\s+\d+\s+0\s+[\d.]+ m?s\s+[\d.]+ m?s$/)
    t.equal(await focusedText(page), 'Check coherence', 'the button keeps the focus')
    await section.scrollIntoViewIfNeeded()
    t.strictSame(await faultsOf(page), [])
    await screenshot(`coherence-${options.width}`)
    t.strictSame(complaints, [])
    await close()
  }
  const { page, section } = await open({ user: 'reader' })
  await section.getByText('A check from here needs the permission cache:purge.').waitFor()
  t.equal(await section.getByRole('button').count(), 0)
  t.strictSame(await faultsOf(page), [])
})

function focusedText(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.textContent')
}
