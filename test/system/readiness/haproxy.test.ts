/** The shipped HAProxy configuration in front of two replicas. Only addresses and the number of connections differ. */
import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { installed } from '../../support/installed.ts'
import { freePort, startRedis } from '../../support/redis.ts'

const PASSWORD = 'only-for-tests'
const haproxy = installed({ variable: 'HAPROXY', names: ['haproxy'], package: 'haproxy' })

interface Balancer {
  readonly url: string
  /** Which replicas HAProxy sends requests to: `UP 1/2` is a replica whose first failed check does not count yet. */
  up(): Promise<string[]>
}

/** Starts HAProxy with config/haproxy.cfg in front of these replicas, named edge-1 and edge-2. */
async function startHaproxy(t: Test, edges: readonly Pick<RunningEdge, 'url' | 'operationsUrl'>[]): Promise<Balancer> {
  const [api, stats] = [await freePort(), await freePort()]
  const servers = edges.map(({ url, operationsUrl }, at) => {
    const [serving, probes] = [url, operationsUrl].map((each) => new URL(each).port)
    return `    server edge-${at + 1} 127.0.0.1:${serving} port ${probes}`
  })
  const shipped = readFileSync('config/haproxy.cfg', 'utf8')
  const adapted = shipped
    // The machine of the test may allow few open files.
    .replace('maxconn 20000', 'maxconn 500')
    .replace(/^resolvers docker\n(?: .*\n)+/m, '')
    .replace(' resolvers docker init-addr libc,none', '')
    .replace('bind :55000', `bind 127.0.0.1:${api}`)
    .replace(/(?:^ {4}server edge-\d.*\n)+/m, `${servers.join('\n')}\n`)
  const file = join(t.testdir(), 'haproxy.cfg')
  writeFileSync(
    file,
    `${adapted}\nfrontend stats\n    bind 127.0.0.1:${stats}\n    stats enable\n    stats uri /stats\n`,
  )
  const child = spawn(haproxy, ['-db', '-f', file], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const up = async (): Promise<string[]> => {
    const response = await fetch(`http://127.0.0.1:${stats}/stats;csv`).catch(() => undefined)
    const rows = (await response?.text())?.split('\n').map((line) => line.split(',')) ?? []
    return rows.flatMap(([, name = '', ...row]) => (/^edge-/.test(name) && row[15]?.startsWith('UP') ? name : []))
  }
  return { url: `http://127.0.0.1:${api}`, up }
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

t.test('a rollout with a wrong secret: the old replica stays, the new one gets no request', async (t) => {
  const { start } = await cluster(t)
  const [old, wrong] = [await start(), await start({ password: 'wrong' })]
  const balancer = await startHaproxy(t, [old, wrong])
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
  const balancer = await startHaproxy(t, [await start({ settings }), await start({ settings })])
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
  const balancer = await startHaproxy(t, [await start({ settings, nodes }), await start({ settings })])
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
