/** The shipped HAProxy configuration in front of two replicas. Only addresses differ. */
import t, { type Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { type Balancer, type BalancerOptions, startHaproxy } from '../../faults/suite/haproxy.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const PASSWORD = 'only-for-tests'

/** Starts HAProxy in front of these replicas, named edge-1 and edge-2. */
async function balance(
  t: Test,
  edges: readonly Pick<RunningEdge, 'url' | 'operationsUrl'>[],
  options: BalancerOptions = {},
): Promise<Balancer> {
  const portOf = (url: string) => Number(new URL(url).port)
  const replicas = edges.map(({ url, operationsUrl }) => ({ port: portOf(url), operationsPort: portOf(operationsUrl) }))
  const balancer = await startHaproxy(replicas, options)
  t.teardown(() => balancer.close())
  return balancer
}

interface Cluster {
  readonly simulator: Simulator
  start(options?: { password?: string; nodes?: Simulator['nodes']; settings?: object }): Promise<RunningEdge>
}

async function cluster(t: Test): Promise<Cluster> {
  const simulator = await startSimulator({ workers: 1, agents: 3, password: PASSWORD })
  t.teardown(() => simulator.close())
  return {
    simulator,
    start: async ({ password = PASSWORD, nodes = simulator.nodes, settings = {} } = {}) => {
      const edge = await startEdge({ nodes, password, settings: { ...settings } })
      t.teardown(() => edge.close())
      return edge
    },
  }
}

const headers = { authorization: `Basic ${Buffer.from('admin:admin-pw').toString('base64')}` }
const get = (url: string, path: string) => fetch(`${url}${path}`, { headers })

t.test('it starts with 1,024 open files, and its statistics page shows both replicas', async (t) => {
  const { start } = await cluster(t)
  const balancer = await balance(t, [await start(), await start()], { openFiles: 1024 })
  t.equal((await get(balancer.url, '/agents')).status, 200)
  const page = await (await fetch(balancer.statistics)).text()
  t.match(page, /<title>Statistics Report for HAProxy/)
  for (const name of ['edges', 'edge-1', 'edge-2']) t.match(page, `>${name}</a>`, name)
})

t.test('a rollout with a wrong secret: the old replica stays, the new one gets no request', async (t) => {
  const { start } = await cluster(t)
  const [old, wrong] = [await start(), await start({ password: 'wrong' })]
  const balancer = await balance(t, [old, wrong], { awaited: 1 })
  await eventually(async () => `${await balancer.up()}` === 'edge-1')
  const statuses = new Set<number>()
  for (let at = 0; at < 40; at += 1) {
    const response = await get(balancer.url, `/agents?offset=${at}`)
    await response.arrayBuffer()
    statuses.add(response.status)
  }
  t.strictSame([...statuses], [200], 'no client sees 927')
  t.strictSame(await balancer.up(), ['edge-1'])
})

t.test('all nodes are down: no replica leaves, and stale responses and error 920 reach clients', async (t) => {
  const { simulator, start } = await cluster(t)
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = { cache: { redis: { url: redis.url }, ttl: { agents: '1s' } } }
  const balancer = await balance(t, [await start({ settings }), await start({ settings })])
  await eventually(async () => `${await balancer.up()}` === 'edge-1,edge-2')
  await (await get(balancer.url, '/agents')).arrayBuffer()
  for (const { name } of simulator.nodes) await simulator.faults.set(name, { apiDown: true })
  const seen = new Set<string>()
  const begin = performance.now()
  // As long as two failed checks of both replicas, with replicas that exchange their reports in between.
  while (performance.now() - begin < 9000) {
    const stale = await get(balancer.url, '/agents')
    await stale.arrayBuffer()
    seen.add(`${stale.status} ${/stale-if-error/.exec(stale.headers.get('cache-status') ?? '')?.[0] ?? ''}`)
    const failed = await get(balancer.url, `/agents?search=${Math.random()}`)
    seen.add(`${failed.status} ${((await failed.json()) as { error: number }).error}`)
    t.strictSame(await balancer.up(), ['edge-1', 'edge-2'])
  }
  t.ok(seen.has('200 stale-if-error'), [...seen].join(', '))
  t.ok(seen.has('503 920'), [...seen].join(', '))
})

t.test('one replica is cut off from all nodes: it leaves, and clients see no failure after that', async (t) => {
  const { simulator, start } = await cluster(t)
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const proxies = await Promise.all(simulator.nodes.map(({ url }) => startFaultProxy(Number(new URL(url).port))))
  t.teardown(() => Promise.all(proxies.map((proxy) => proxy.close())))
  const nodes = simulator.nodes.map((node, at) => ({ ...node, url: `http://127.0.0.1:${proxies[at]?.port}` }))
  const settings = { cache: { redis: { url: redis.url } } }
  const balancer = await balance(t, [await start({ settings, nodes }), await start({ settings })])
  await eventually(async () => `${await balancer.up()}` === 'edge-1,edge-2')
  for (const proxy of proxies) await proxy.set({ kind: 'refuse' })
  await eventually(async () => {
    await (await get(balancer.url, `/agents?search=${Math.random()}`)).arrayBuffer()
    return `${await balancer.up()}` === 'edge-2'
  })
  for (let at = 0; at < 40; at += 1) {
    const response = await get(balancer.url, `/agents?search=${Math.random()}`)
    await response.arrayBuffer()
    t.equal(response.status, 200)
  }
  for (const proxy of proxies) await proxy.set({ kind: 'pass' })
  await eventually(async () => `${await balancer.up()}` === 'edge-1,edge-2', 60_000)
})
