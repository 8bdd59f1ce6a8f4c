/** Nodes of the v4 layout with a limit of requests per minute: what clients get, and what the nodes get. */
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { simulated } from '../../support/simulated.ts'

const world = { layout: 'v4', workers: 1, agents: 60 } as const

async function read(edge: RunningEdge, path: string, method = 'GET') {
  const response = await fetch(edge.url + path, { method, headers: { authorization: edge.authorization('admin') } })
  const { error } = (await response.json()) as { error: number }
  return { status: response.status, error, retryAfter: Number(response.headers.get('retry-after') ?? Number.NaN) }
}

const agent = (number: number) => `/agents/${String(number).padStart(3, '0')}`

function countOf(responses: readonly { readonly error: number }[], error: number): number {
  return responses.filter((response) => response.error === error).length
}

async function startReplicas(t: Test, perMinute: number) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const simulator = await startSimulator({
    ...world,
    password: 'only-for-tests',
    v4: { requestsPerMinute: perMinute },
  })
  t.teardown(() => simulator.close())
  // Long enough for the calls that are sent, on a busy machine too. Queued ones are refused at its end.
  const limits = { perMinute, timeout: '8s', inFlight: 8 }
  const settings = {
    cluster: { layout: 'v4', discover: false, limits },
    cache: { redis: { url: redis.url, timeout: '1s' }, snapshots: { groups: [] } },
  }
  const edges = await Promise.all([1, 2].map(() => startEdge({ nodes: simulator.nodes, settings })))
  t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
  return { simulator, edges }
}

t.test('two replicas with more misses than the limit: no node refuses a call, and writes are sent', async (t) => {
  const { simulator, edges } = await startReplicas(t, 60)
  const responses = await Promise.all(
    Array.from({ length: 60 }, (_, at) => read(edges[at % 2] as RunningEdge, agent(at + 1))),
  )
  t.ok(countOf(responses, 0) >= 15, `${countOf(responses, 0)} answered`)
  t.equal(countOf(responses, 0) + countOf(responses, 921), 60)
  for (const { error, status, retryAfter } of responses) if (error === 921) t.ok(status === 503 && retryAfter >= 1)
  t.match(await read(edges[0] as RunningEdge, '/agents/001/restart', 'PUT'), { status: 200, error: 0 })
  t.equal(simulator.v4.refusedRequests('master'), 0)
})

t.test('the limit is used up by others: stored responses are served stale, and nothing is repeated', async (t) => {
  const { simulator, edge } = await simulated(
    t,
    { ...world, v4: { requestsPerMinute: 25 } },
    {
      settings: {
        cluster: { layout: 'v4', discover: false },
        cache: { ttl: { agents: '100ms' }, staleIfError: '60s', snapshots: { groups: [] } },
      },
    },
  )
  t.match(await read(edge, agent(1)), { error: 0 })
  await eventually(async () => {
    await fetch(`${simulator.nodes[0]?.url}/`)
    return simulator.v4.refusedRequests('master') > 0
  })
  const before = simulator.v4.refusedRequests('master')
  const misses = await Promise.all(Array.from({ length: 20 }, (_, at) => read(edge, agent(at + 10))))
  t.equal(countOf(misses, 921), 20)
  for (const { retryAfter } of misses) t.ok(retryAfter >= 1 && retryAfter <= 65, `${retryAfter} s`)
  const refused = simulator.v4.refusedRequests('master') - before
  t.ok(refused <= 4, `${refused} calls: those in flight when the first one was refused`)
  t.match(await read(edge, agent(1)), { status: 200, error: 0 }, 'stale')
  t.equal(simulator.v4.refusedRequests('master') - before, refused)
  t.ok(edge.logged.every((line) => !line.includes('node ejected')))
})

t.test(
  'a node that blocks the address of the edge: 920 with the time to wait, in metrics and in the log',
  async (t) => {
    const { simulator, edge } = await simulated(t, world, {
      settings: {
        cluster: { layout: 'v4', discover: false },
        operations: { metrics: 'open' },
        cache: { snapshots: { groups: [] } },
      },
    })
    await read(edge, agent(1))
    for (const { name } of simulator.nodes) simulator.v4.blockAddress(name)
    const first = await read(edge, agent(2))
    t.match(first, { status: 503, error: 920 })
    t.ok(first.retryAfter > 5 && first.retryAfter <= 10, `${first.retryAfter} s until the first careful attempt`)
    const before = simulator.seen.length
    t.match(await read(edge, agent(3)), { error: 920 })
    t.equal(simulator.seen.slice(before).filter(({ url }) => url.startsWith('/agents')).length, 0)
    const metrics = await (await fetch(`${edge.operationsUrl}/metrics`)).text()
    t.match(metrics, /http_client_request_duration_seconds_count\{[^}]*error_type="blocked"/)
    t.match(metrics, /edge_node_ejected\{node="master"[^}]*\} 1/)
    const ejections = edge.logged.filter((line) => line.includes('node ejected') && line.includes('"node":"master"'))
    t.equal(ejections.length, 1)
  },
)
