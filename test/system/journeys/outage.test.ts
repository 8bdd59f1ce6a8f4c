/**
 * Outage mode: all nodes are down, and stored responses are served far beyond their stale times, by two replicas that share
 * a Redis. With real processes; the outage is as long as a test can wait, and the stale times are short.
 */
import t, { type Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, SHORT_CONTACTS, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { type NodeDoor, startNodeDoor } from '../../support/node-door.ts'
import { startRedis } from '../../support/redis.ts'
import { ask } from './edge-mode.ts'

const PASSWORD = 'only-for-tests'
const GROUPS = ['agents', 'manager', 'rules', 'cluster', 'syscollector', 'summary']
const SILENCE = { minWait: 200, maxWait: 400, probeTimeout: 200, probes: 2, pause: 100 }

const READS = [
  '/agents/001',
  '/agents?limit=2',
  '/manager/info',
  '/manager/status',
  '/cluster/nodes',
  '/cluster/healthcheck',
  '/cluster/worker-1/info',
  '/cluster/*/info',
  '/rules?limit=3',
  '/agents/summary',
  '/syscollector/001/os',
]
/** Of a collection with a snapshot, whose last page has ties, and of stored parts of the nodes. */
const NEVER_REQUESTED = [
  '/agents?limit=3&offset=1',
  '/agents?sort=-id&limit=2',
  '/agents?sort=status&limit=4',
  '/cluster/*/info?limit=1',
]

interface World {
  readonly simulator: Simulator
  readonly doors: readonly NodeDoor[]
  readonly edges: readonly RunningEdge[]
}

async function start(t: Test, distribution: 'manager' | 'edge', cache: object = {}): Promise<World> {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const isDistributed = distribution === 'manager'
  const simulator = await startSimulator({ agents: 6, workers: 1, password: PASSWORD, distributed: isDistributed })
  t.teardown(() => simulator.close())
  const doors = await Promise.all(simulator.nodes.map(({ url }) => startNodeDoor(t, url)))
  const open = async () => {
    const edge = await startEdge({
      nodes: simulator.nodes.map((node, at) => ({ ...node, url: doors[at]?.url ?? '' })),
      password: PASSWORD,
      times: { cluster: { ejection: { silence: SILENCE }, contactTimes: SHORT_CONTACTS } },
      settings: {
        cluster: { distribution, discover: false },
        cache: {
          redis: { url: redis.url },
          ttl: Object.fromEntries(GROUPS.map((group) => [group, '100ms'])),
          endpoints: { '/manager/info': '100ms' },
          staleIfError: '0s',
          outage: '1h',
          ...cache,
        },
      },
    })
    t.teardown(() => edge.close())
    return edge
  }
  return { simulator, doors, edges: [await open(), await open()] }
}

const cacheOf = ({ headers }: { readonly headers: Headers }) => `${headers.get('cache-status')}`

async function fill({ edges: [edge] }: World): Promise<void> {
  if (edge === undefined) return
  await eventually(async () => {
    const replies = await Promise.all(READS.map((path) => ask(edge, `GET ${path}`)))
    const computed = await ask(edge, 'GET /agents?limit=1&offset=1')
    return replies.every(({ status }) => status === 200) && cacheOf(computed).includes('snapshot')
  })
}

for (const distribution of ['manager', 'edge'] as const) {
  t.test(`distribution ${distribution}: all nodes hang`, async (t) => {
    const world = await start(t, distribution)
    const { edges, doors } = world
    await fill(world)
    for (const door of doors) await door.hang('stopped')
    await new Promise((resolve) => setTimeout(resolve, 150))
    await eventually(async () => cacheOf(await ask(edges[1] as RunningEdge, 'GET /agents/001')).includes('outage'))
    for (const [at, edge] of edges.entries()) {
      for (const path of [...READS, ...(distribution === 'manager' ? NEVER_REQUESTED : [])]) {
        const reply = await ask(edge, `GET ${path}`)
        t.match(reply, { status: 200, body: { error: 0 } }, `replica ${at}: ${path}`)
        t.match(cacheOf(reply), /detail=outage/, `replica ${at}: ${path} is marked`)
        t.ok(reply.headers.has('age'), 'with its age')
      }
      const began = performance.now()
      const written = await ask(edge, 'PUT /agents/001/restart')
      t.match(written, { status: 503 }, 'a write has one clear error')
      t.ok(performance.now() - began < 1000, 'at once')
      const token = await ask(edge, 'GET /security/user/authenticate')
      t.equal(token.status, 200, 'users of the edge log in as always')
    }
    const verbose = await (await fetch(`${edges[0]?.operationsUrl}/readyz?verbose`)).text()
    t.match(verbose, /servedInOutage/, 'operators see it')
    for (const door of doors) await door.recover()
    await eventually(async () => {
      const replies = await Promise.all(edges.flatMap((edge) => READS.map((path) => ask(edge, `GET ${path}`))))
      return replies.every((reply) => reply.status === 200 && !cacheOf(reply).includes('outage'))
    })
  })
}

t.test('only one node is down', async (t) => {
  const world = await start(t, 'edge')
  const { edges, doors } = world
  const [edge] = edges as readonly [RunningEdge, RunningEdge]
  await fill(world)
  await doors[1]?.hang('stopped')
  await new Promise((resolve) => setTimeout(resolve, 150))
  await eventually(async () => cacheOf(await ask(edge, 'GET /cluster/worker-1/info')).includes('outage'))
  for (const path of ['/manager/info', '/agents/001', '/rules?limit=3', '/manager/status']) {
    const reply = await ask(edge, `GET ${path}`)
    t.equal(reply.status, 200)
    t.notMatch(cacheOf(reply), /outage/, `${path}: the master answers`)
  }
})

t.test('without the setting, and of a group without it', async (t) => {
  const world = await start(t, 'manager', { outage: { rules: '1h' } })
  const { edges, doors } = world
  const [edge] = edges as readonly [RunningEdge, RunningEdge]
  await fill(world)
  for (const door of doors) await door.hang('stopped')
  await new Promise((resolve) => setTimeout(resolve, 150))
  await eventually(async () => cacheOf(await ask(edge, 'GET /rules?limit=3')).includes('outage'))
  t.match(await ask(edge, 'GET /agents/001'), { status: 503 })
})
