/** A node answers a read after its client got the timeout. The answer is stored, if nothing newer is known. */
import t, { type Test } from 'tap'
import type { SimulatorOptions } from '../../../packages/simulator/src/index.ts'
import type { Settings } from '../../support/edge.ts'
import { createLatch } from '../../support/edge-requests.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { simulated } from '../../support/simulated.ts'

const TIMEOUT = '1s'
const limits = { timeout: TIMEOUT, slowTimeout: TIMEOUT }

async function start(t: Test, world: SimulatorOptions = {}, cluster: Settings = {}, cache: Settings = {}) {
  const { simulator, edge } = await simulated(
    t,
    { agents: 5, workers: 1, ...world },
    {
      settings: {
        cluster: { limits, ...cluster },
        cache: { ttl: { agents: '10m', rules: '10m', syscheck: '10m', manager: '10m' }, ...cache },
      },
    },
  )
  const headers = { authorization: edge.authorization('admin') }
  const send = async (method: string, path: string) => {
    const { length } = simulator.seen
    const response = await fetch(edge.url + path, { method, headers })
    const status = response.headers.get('cache-status') ?? ''
    const body = await response.text()
    const calls = simulator.seen.slice(length).filter(({ url }) => url.startsWith(path)).length
    return { code: response.status, status, age: Number(response.headers.get('age')), body, calls }
  }
  const metric = async (name: string) => {
    const metrics = await fetch(`${edge.operationsUrl}/metrics`)
    return sumOf(samplesOf(await metrics.text()), name)
  }
  /** Sends a read that times out. Returns the function that lets the node answer, and resolves when the edge has the answer. */
  const timeOut = async (path: string, call = path) => {
    const { opened: busyUntil, open } = createLatch()
    const fault = { busyUntil, only: ({ url }: { readonly url: string }) => url.startsWith(call) }
    for (const { name } of simulator.nodes) await simulator.faults.set(name, fault)
    t.match(await send('GET', path), { code: 504 })
    await simulator.faults.clear()
    return async () => {
      open()
      await eventually(async () => (await metric('edge_node_in_flight')) === 0)
    }
  }
  /** Further calls get no answer of the API. */
  const fail = async () => {
    for (const { name } of simulator.nodes) await simulator.faults.set(name, { status: 500 })
  }
  return { send, timeOut, fail, calls: (path = '') => simulator.seen.filter(({ url }) => url.startsWith(path)).length }
}

const CASES: Readonly<Record<string, { path: string; world?: SimulatorOptions; cluster?: Settings }>> = {
  'of the master': { path: '/agents/groups' },
  'of the node of an agent': { path: '/syscheck/001', cluster: { distribution: 'edge' } },
  'in the v4 layout': { path: '/rules/files', world: { layout: 'v4' }, cluster: { layout: 'v4' } },
}
for (const [name, { path, world, cluster }] of Object.entries(CASES))
  t.test(`a late answer ${name} is a hit`, async (t) => {
    const { send, timeOut } = await start(t, world, cluster)
    const answer = await timeOut(path)
    await answer()
    await eventually(async () => (await send('GET', `/cache?details=true&search=${path}`)).body.includes('"url"'))
    const hit = await send('GET', path)
    t.match(hit, { code: 200, status: /hit/, calls: 0 })
    t.ok(hit.age >= 1, `age ${hit.age}`)
  })

t.test('a write that was acknowledged before the late answer makes it useless', async (t) => {
  const { send, timeOut } = await start(t)
  const answer = await timeOut('/agents/groups')
  t.match(await send('PUT', '/agents/groups/added'), { code: 200 })
  await answer()
  const read = await send('GET', '/agents/groups')
  t.match(read, { code: 200, calls: 1 })
  t.match(read.body, 'added')
})

t.test('the answer of a call that began later stays', async (t) => {
  const { send, timeOut } = await start(t)
  const answer = await timeOut('/agents/groups')
  const later = performance.now()
  t.match(await send('GET', '/agents/groups'), { code: 200, calls: 1 })
  await answer()
  const { status, age, calls } = await send('GET', '/agents/groups')
  t.match({ status, calls }, { status: /hit/, calls: 0 })
  t.ok(age <= (performance.now() - later) / 1000, `age ${age}`)
})

t.test('the answer of the last of several calls is stored with those before it', async (t) => {
  const { send, timeOut, calls } = await start(t, { layout: 'v4' }, { layout: 'v4' })
  const answer = await timeOut('/manager/info', '/cluster/local/info')
  await answer()
  await eventually(async () =>
    (await send('GET', '/cache?details=true&search=/manager/info')).body.includes('"/manager/info"'),
  )
  const before = calls()
  t.match(await send('GET', '/manager/info'), { code: 200, status: /hit/ })
  t.equal(calls() - before, 0)
})

t.test('while Redis is down, the late answer is served by its replica', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  // The node answers within this time again.
  const limits = { timeout: '4s', slowTimeout: '4s' }
  const cache = { redis: { url: redis.url }, withoutRedis: 'stale' }
  const { send, timeOut, fail, calls } = await start(t, {}, { limits }, cache)
  const timingOut = timeOut('/agents/groups')
  await eventually(() => calls('/agents/groups') > 0)
  await redis.kill()
  const answer = await timingOut
  await answer()
  await fail()
  await eventually(async () => (await send('GET', '/agents/groups')).code === 200)
  t.match(await send('GET', '/agents/groups'), { status: /hit.*detail=without-redis/, calls: 0 })
})
