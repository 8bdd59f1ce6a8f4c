/** The shipped HAProxy configuration in front of two replicas, while nodes cannot be reached. */
import t from 'tap'
import { startFaultProxy } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { balance, cluster, get } from './balanced.ts'

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
