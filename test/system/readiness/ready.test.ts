import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import type { Degradation } from '../../../src/status/readiness.ts'
import { startFaultProxy } from '../../faults/proxy.ts'
import { type EdgeUnderTest, type RunningEdge, SHORT_CONTACTS, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { together } from '../../support/together.ts'
import { reloadable } from '../reload/edge.ts'

const test = together(t, 3)

const PASSWORD = 'only-for-tests'
const times = { cluster: { contactTimes: SHORT_CONTACTS } }

interface Answer {
  readonly status: number
  readonly body: {
    readonly status: string
    readonly reasons?: readonly string[]
    readonly degraded: readonly Degradation[]
  }
}

async function readyz({ operationsUrl }: Pick<RunningEdge, 'operationsUrl'>): Promise<Answer> {
  const response = await fetch(`${operationsUrl}/readyz?verbose`)
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

const isReady = async (edge: RunningEdge): Promise<boolean> => (await readyz(edge)).status === 200

async function startSimulated(t: Test) {
  const simulator = await startSimulator({ workers: 1, agents: 3, password: PASSWORD })
  t.teardown(() => simulator.close())
  return simulator
}

async function start(t: Test, options: EdgeUnderTest): Promise<RunningEdge> {
  const edge = await startEdge({ ...options, times })
  t.teardown(() => edge.close())
  return edge
}

const read = (edge: RunningEdge, path = '/agents') =>
  fetch(`${edge.url}${path}`, { headers: { authorization: edge.authorization('admin') } })

test('a replica with wrong credentials is not ready until it has the right ones', async (t) => {
  const { edge, change, operations } = await reloadable(t, { cluster: { credentials: { password: 'wrong' } } })
  t.match(await readyz(edge), {
    status: 503,
    body: { status: 'not ready', reasons: ['the manager refuses the credentials'] },
  })
  t.match(await operations('/metrics'), /^edge_degraded\{reason="credentialsRefused"\} 1$/m)
  await change({ 'cluster.credentials.password': PASSWORD })
  await eventually(() => isReady(edge))
  t.match(await operations('/metrics'), /^edge_degraded\{reason="credentialsRefused"\} 0$/m)
  await change({ 'cluster.credentials.password': 'wrong-again' })
  await eventually(async () => !(await isReady(edge)))
})

for (const discover of [true, false]) {
  test(`a replica that has reached no node is not ready, with discover: ${discover}`, async (t) => {
    const simulator = await startSimulated(t)
    for (const { name } of simulator.nodes) await simulator.faults.set(name, { apiDown: true })
    const edge = await start(t, { nodes: simulator.nodes, password: PASSWORD, settings: { cluster: { discover } } })
    t.match(await readyz(edge), { status: 503, body: { reasons: ['no node has answered since the start'] } })
    await simulator.faults.clear()
    // Without any request of a client. An ejected node is tried again after 30 s at the latest.
    await eventually(() => isReady(edge), 60_000)
  })
}

test('an outage of all nodes keeps the replica ready, and it reports what is degraded', async (t) => {
  const { simulator, edge, get, operations } = await reloadable(t, { cache: { ttl: { agents: '1s' } } }, {}, times)
  t.strictSame(await readyz(edge), { status: 200, body: { status: 'ready', degraded: [] } })
  await (await get('/agents')).arrayBuffer()
  for (const { name } of simulator.nodes) await simulator.faults.set(name, { apiDown: true })
  await eventually(async () => {
    for (const node of simulator.nodes)
      await (await get(`/cluster/${node.name}/info?no=${Math.random()}`)).arrayBuffer()
    await (await get(`/agents?search=${Math.random()}`)).arrayBuffer()
    return (await readyz(edge)).body.degraded.some(({ reason }) => reason === 'noNode')
  })
  t.match(await readyz(edge), {
    status: 200,
    body: { degraded: [{ reason: 'noNode', detail: '2 of 2 nodes cannot be reached', since: /^\d{4}-.*Z$/ }] },
  })
  t.match(await operations('/metrics'), /^edge_degraded\{reason="noNode"\} 1$/m)
  t.match(await operations('/metrics'), /^edge_ready 1$/m)
  await eventually(async () => {
    const stale = await get('/agents')
    await stale.arrayBuffer()
    return stale.status === 200 && /stale-if-error/.test(stale.headers.get('cache-status') ?? '')
  })
  await simulator.faults.clear()
  await eventually(async () => (await readyz(edge)).body.degraded.length === 0, 60_000)
})

test('a node that can be reached again is no longer reported, without any request of a client', async (t) => {
  const { simulator, edge, get } = await reloadable(t, {}, {}, times)
  await simulator.faults.set('worker-1', { reset: true })
  await eventually(async () => {
    await (await get('/cluster/worker-1/info', { 'cache-control': 'no-cache' })).arrayBuffer()
    return (await readyz(edge)).body.degraded.length > 0
  })
  t.match(await readyz(edge), {
    status: 200,
    body: { degraded: [{ reason: 'nodeUnreachable', detail: '1 of 2 nodes cannot be reached' }] },
  })
  await simulator.faults.clear()
  await eventually(async () => (await readyz(edge)).body.degraded.length === 0, 60_000)
})

test('a replica that alone is cut off from all nodes leaves, and returns', async (t) => {
  const [simulator, redis] = [await startSimulated(t), await startRedis()]
  t.teardown(() => redis.close())
  const proxies = await Promise.all(simulator.nodes.map(({ url }) => startFaultProxy(Number(new URL(url).port))))
  t.teardown(() => Promise.all(proxies.map((proxy) => proxy.close())))
  const behindProxies = simulator.nodes.map((node, at) => ({ ...node, url: `http://127.0.0.1:${proxies[at]?.port}` }))
  const settings = { cache: { redis: { url: redis.url } } }
  const cut = await start(t, { nodes: behindProxies, password: PASSWORD, settings })
  const other = await start(t, { nodes: simulator.nodes, password: PASSWORD, settings })
  await eventually(async () => (await isReady(cut)) && (await isReady(other)))

  for (const proxy of proxies) await proxy.set({ kind: 'refuse' })
  const load = async () => (await read(cut, `/agents?search=${Math.random()}`)).arrayBuffer()
  // No client calls the other replica: it tries the nodes because this one reports that it is cut off.
  let last: Answer | undefined
  await eventually(async () => {
    await load()
    last = await readyz(cut)
    return last.status === 503
  })
  // Of the same answer: while other processes keep the cores busy, the report of the other replica may be late again.
  t.match(last?.body.reasons, ['this replica cannot reach any node, but other replicas can'])
  t.ok(await isReady(other))

  for (const { name } of simulator.nodes) await simulator.faults.set(name, { apiDown: true })
  for (const proxy of proxies) await proxy.set({ kind: 'pass' })
  await simulator.faults.clear()
  await eventually(() => isReady(cut), 60_000)
})
