/** `cluster.layout: auto`: clients of the edge while the cluster behind it is upgraded. */
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type EdgeUnderTest, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'

const PASSWORD = 'only-for-tests'

async function start(t: Test, settings: EdgeUnderTest['settings'] = {}, replicas = 1) {
  const simulator = await startSimulator({ workers: 1, agents: 4, password: PASSWORD })
  t.teardown(() => simulator.close())
  const redis = replicas > 1 ? await startRedis() : undefined
  if (redis !== undefined) t.teardown(() => redis.close())
  const edges = await Promise.all(
    Array.from({ length: replicas }, () =>
      startEdge({
        nodes: simulator.nodes,
        password: PASSWORD,
        settings: { cluster: { layout: 'auto' }, ...(redis && { cache: { redis: { url: redis.url } } }), ...settings },
      }),
    ),
  )
  t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
  const call = async (path: string, { method = 'GET', at = 0 } = {}) => {
    const edge = edges[at]
    const headers = { authorization: edge?.authorization('admin') ?? '' }
    const response = await fetch(`${edge?.url}${path}`, { method, headers })
    const { error, message, data } = (await response.json()) as { error: number; message?: string; data?: unknown }
    return { status: response.status, cache: response.headers.get('cache-status') ?? '', error, message, data }
  }
  const upgrade = (...names: readonly string[]) => {
    for (const name of names) simulator.setLayout(name, 'v4')
  }
  /** Methods and paths of the calls, without those that the edge sends for itself. */
  const calls = () => simulator.seen.map(({ method, url }) => `${method} ${url}`).filter((each) => each !== 'GET /')
  return { simulator, edges, call, upgrade, calls }
}

t.test('clients get the same answers before and after an upgrade, without a failed request', async (t) => {
  const { simulator, call, upgrade } = await start(t, { cache: { enabled: false }, cluster: { layout: 'auto' } })
  const paths = ['/agents?select=id,name&sort=id', '/agents/001?select=id,name', '/cluster/*/info', '/agents/groups']
  const before = await Promise.all(paths.map((path) => call(path)))
  upgrade('master', 'worker-1')
  for (const [at, path] of paths.entries()) {
    const after = await call(path)
    t.equal(after.status, 200, `${path}: ${after.message}`)
    t.equal(after.error, 0, `${path}: ${after.message}`)
    if (path.startsWith('/agents?') || path.startsWith('/agents/0')) t.strictSame(after.data, before[at]?.data, path)
  }
  t.match(await call('/agents/001/restart', { method: 'PUT' }), { status: 200, error: 0 })
  t.ok(simulator.seen.some(({ url }) => url.startsWith('/security/user/authenticate')))
})

t.test('after an upgrade no replica serves a response from before it', async (t) => {
  const { edges, call, upgrade } = await start(t, {}, 2)
  const path = '/rules?limit=3'
  await call(path)
  for (const at of [0, 1]) await eventually(async () => (await call(path, { at })).cache.includes('hit'))
  upgrade('master', 'worker-1')
  // One replica meets the upgraded node.
  await eventually(async () => (await call('/manager/info?wait_for_complete')).error === 0)
  await eventually(() => edges[0]?.logged.some((line) => line.includes('stored responses discarded')) === true)
  const first = await call(path, { at: 1 })
  t.notMatch(first.cache, /; hit/, 'the other replica asks a node')
  t.equal(first.error, 0)
  for (const at of [0, 1]) await eventually(async () => (await call(path, { at })).cache.includes('hit'))
})

t.test('while nodes have different layouts, writes are refused and reads are answered', async (t) => {
  const { edges, call, upgrade, calls } = await start(t)
  const [edge] = edges
  upgrade('master')
  await eventually(async () => (await call('/agents?limit=1&offset=1')).error === 0)
  await eventually(async () =>
    (await fetch(`${edge?.operationsUrl}/readyz?verbose`).then((r) => r.text())).includes('mixedLayouts'),
  )
  const refused = await call('/agents/001/restart', { method: 'PUT' })
  t.match(refused, { status: 503, error: 939, message: /v3: worker-1; v4: master/ })
  t.notOk(
    calls().some((each) => each.startsWith('PUT')),
    'nothing was sent',
  )
  t.match(await call('/agents?limit=2'), { status: 200, error: 0 })

  const nodes = await fetch(`${edge?.operationsUrl}/api/nodes`, {
    headers: { authorization: edge?.authorization('admin') ?? '' },
  })
  t.match(await nodes.json(), {
    mixture: { v3: ['worker-1'], v4: ['master'] },
    nodes: [
      { name: 'master', layout: 'v4' },
      { name: 'worker-1', layout: 'v3' },
    ],
  })
})

t.test('mode edge has no effect in the v4 layout: the master answers all requests', async (t) => {
  const { simulator, edges, call } = await start(t, { cluster: { layout: 'auto', distribution: 'edge' } })
  for (const node of simulator.world.nodes) node.distributes = false
  t.match(await call('/cluster/worker-1/info'), { error: 0 })
  t.ok(simulator.seen.some(({ node, url }) => node === 'worker-1' && url !== '/'))
  for (const name of ['master', 'worker-1']) simulator.setLayout(name, 'v4')
  await eventually(async () => (await call('/agents?limit=1&offset=2')).error === 0)
  await eventually(() => edges[0]?.logged.some((line) => line.includes('mode edge has no effect')) === true)
  simulator.seen.length = 0
  for (const path of [
    '/syscollector/001/os',
    '/experimental/syscollector/os',
    '/cluster/*/status',
    '/cluster/configuration/validation',
  ]) {
    const { error, message } = await call(path)
    t.equal(error, 0, `${path}: ${message}`)
  }
  for (const path of ['/agents/001/restart', '/agents/restart', '/cluster/restart']) {
    const { error, message } = await call(path, { method: 'PUT' })
    t.equal(error, 0, `${path}: ${message}`)
  }
  const others = simulator.seen.filter(({ node, url }) => node !== 'master' && url !== '/')
  t.strictSame(others, [], 'no worker was asked')
})

t.test('mode passthrough: a user of the manager stays signed in over an upgrade', async (t) => {
  const passthrough = {
    cluster: { layout: 'auto', discover: false, credentials: { mode: 'passthrough', username: null, password: null } },
    access: { users: null, roles: null },
  }
  const { edges, upgrade } = await start(t, passthrough)
  const get = (password: string) => {
    const authorization = `Basic ${btoa(`edge:${password}`)}`
    return fetch(`${edges[0]?.url}/agents?limit=1`, { headers: { authorization } })
  }
  t.equal((await get(PASSWORD)).status, 200)
  t.equal((await get('wrong')).status, 401)
  upgrade('master', 'worker-1')
  await eventually(async () => (await get(PASSWORD)).status === 200)
  t.equal((await get('wrong')).status, 401)
})
