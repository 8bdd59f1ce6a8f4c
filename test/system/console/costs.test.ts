/** The costs of requests by two users through two replicas with one Redis: the API, `manager-edge top`, and the page. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CallerCost, Costs } from '../../../packages/console/server/request-types.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { result } from '../process/program.ts'
import { openConsole, startBrowser } from './browser.ts'
import { SIMULATED_PASSWORD, startConsoleEdge, ttl } from './edge.ts'
import { faultsOf } from './tour.ts'

async function start(t: Test) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = { cache: { ttl, redis: { url: redis.url } } }
  const here = await startConsoleEdge(settings)
  t.teardown(() => here.close())
  const there = await startEdge({ nodes: here.simulator.nodes, password: SIMULATED_PASSWORD, settings })
  t.teardown(() => there.close())
  return { here, there }
}

async function send({ url, authorization }: RunningEdge, user: string, paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const response = await fetch(url + path, { headers: { authorization: authorization(user) } })
    t.equal(response.status, 200, path)
    await response.text()
  }
}

async function costsOf({ operationsUrl, authorization }: RunningEdge): Promise<Costs> {
  const response = await fetch(`${operationsUrl}/api/costs`, { headers: { authorization: authorization('admin') } })
  return (await response.json()) as Costs
}

const countsOf = ({ callers }: Costs, name: string | null): Partial<CallerCost> =>
  callers.find(({ caller }) => caller === name) ?? {}

const repeated = (path: string, times: number) => Array.from({ length: times }, () => path)

t.test('the costs of all replicas', async (t) => {
  const { here, there } = await start(t)
  // Three calls to a node and five hits by the admin, two calls and one hit by the operator.
  await send(here, 'admin', ['/rules?limit=1', '/rules?limit=2', ...repeated('/rules?limit=1', 3)])
  await send(there, 'admin', ['/decoders?limit=1', ...repeated('/decoders?limit=1', 2)])
  await send(there, 'operator', ['/agents?limit=1', '/agents?limit=2', '/agents?limit=1'])
  const isComplete = ({ replicas, total }: Costs) => replicas === 2 && total.requests === 11
  for (const edge of [here, there]) await eventually(async () => isComplete(await costsOf(edge)))
  const [seenHere, seenThere] = [await costsOf(here), await costsOf(there)]

  await t.test('the counts of two users are the sums over both replicas', async (t) => {
    for (const costs of [seenHere, seenThere]) {
      t.match(countsOf(costs, 'admin'), { requests: 8, hits: 5, calls: 3 })
      t.match(countsOf(costs, 'operator'), { requests: 3, hits: 1, calls: 2 })
      t.match(costs.total, { requests: 11, hits: 6 })
      const pairs = costs.endpoints
        .filter(({ requests }) => requests > 0)
        .map(({ caller, endpoint, requests, hits, calls }) => `${caller} ${endpoint} ${requests} ${hits} ${calls}`)
      t.strictSame(pairs.toSorted(), [
        'admin GET /decoders 3 2 1',
        'admin GET /rules 5 3 2',
        'operator GET /agents 3 1 2',
      ])
      const sum = costs.callers.reduce((all, { nodeTime }) => all + nodeTime, 0)
      t.ok(Math.abs(sum - costs.total.nodeTime) <= costs.callers.length, `${sum} of ${costs.total.nodeTime}`)
      t.ok((countsOf(costs, 'admin').nodeTime ?? 0) > 0 && (countsOf(costs, 'operator').nodeTime ?? 0) > 0)
      t.ok(costs.seconds > 0 && costs.seconds < 600)
    }
  })

  await t.test('the reads of probes and of the console itself are not counted', async (t) => {
    await fetch(`${here.operationsUrl}/readyz`)
    t.equal((await costsOf(here)).total.requests, 11)
  })

  await t.test('only a user with the permission reads them', async (t) => {
    const url = `${here.operationsUrl}/api/costs`
    const statusOf = async (user?: string) => {
      const headers = user === undefined ? {} : { authorization: here.authorization(user) }
      return (await fetch(url, { headers })).status
    }
    t.equal(await statusOf(), 401, 'without credentials')
    t.equal(await statusOf('reader'), 403, 'without operations:read')
    t.equal(await statusOf('operator'), 200)
    const wrong = { authorization: `Basic ${Buffer.from('admin:wrong').toString('base64')}` }
    t.equal((await fetch(url, { headers: wrong })).status, 401, 'with a wrong password')
    const ofClients = await fetch(`${here.url}/api/costs`, { headers: { authorization: here.authorization('reader') } })
    t.equal(ofClients.status, 404, 'clients have no such endpoint')
  })

  await t.test('manager-edge top prints them', async (t) => {
    const passwordFile = join(t.testdir({}), 'password')
    writeFileSync(passwordFile, 'admin-pw\n')
    const connection = ['--operations', here.operationsUrl, '--user', 'admin', '--password-file', passwordFile]
    const top = (...args: string[]) => result(t, ['top', '--once', '--seconds', '1', ...connection, ...args])
    const { code, out, err } = await top()
    t.strictSame([code, err], [0, ''])
    t.match(out, /^node time in \d+ s, all replicas$/m)
    t.match(out, /^COSTLIEST CALLER +NODE S +% +CALLS +REQUESTS +HIT %$/m)
    // Seconds, percent of the node time, calls, requests, percent of hits.
    t.match(out, /^admin +\d+\.\d +\d+ +3 +8 +63$/m)
    t.match(out, /^operator +\d+\.\d +\d+ +2 +3 +33$/m)
    t.match(out, /^COSTLIEST ENDPOINT +CALLER +NODE S/m)
    t.match(out, /^GET \/rules +admin +\d+\.\d +\d+ +2 +5 +60$/m)
    const { costs } = JSON.parse((await top('--json', '--rows', '1')).out) as { readonly costs: Costs }
    t.strictSame([costs.callers.length, costs.endpoints.length, costs.replicas], [1, 1, 2])
  })
})

t.test('the view Now shows who costs the manager what', async (t) => {
  const { here, there } = await start(t)
  // Different reads by one user, and one read by another.
  const reads = Array.from({ length: 40 }, (_, agent) => `/agents/${String(agent).padStart(3, '0')}`)
  await send(there, 'admin', reads)
  await send(here, 'operator', ['/rules?limit=1', '/rules?limit=1'])
  await eventually(async () => (await costsOf(here)).total.requests === 42)
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  for (const options of [{ width: 1440 }, { width: 390, height: 844, dark: true }]) {
    const { page, complaints, screenshot, close } = await openConsole(browser, here.operationsUrl, options)
    const section = page.getByRole('region', { name: /^Costs who costs the manager what: last .*, all 2 replicas$/ })
    await section.waitFor()
    const row = (name: RegExp) => section.getByRole('row', { name })
    // Node time, share, calls, requests, hits.
    t.match(await row(/^admin/).innerText(), /^admin\s+[\d.]+ m?s\s+[\d.]+ %\s+40\s+40\s+0 0 %$/)
    t.match(
      await row(/^GET \/agents/).innerText(),
      /^GET \/agents\/:agent_id\s+admin\s+\S+ m?s\s+\S+ %\s+40\s+40\s+0 0 %$/,
    )
    t.match(await row(/^operator/).innerText(), /^operator\s+\S+ m?s\s+\S+ %\s+1\s+2\s+1 50 %$/)
    await section.getByText(/ of node time in \d+ calls\./).waitFor()
    await section.scrollIntoViewIfNeeded()
    t.strictSame(await faultsOf(page), [])
    await screenshot(`costs-${options.width}`)
    t.strictSame(complaints, [])
    await close()
  }
})
