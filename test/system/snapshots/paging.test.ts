import t, { type Test } from 'tap'
import { type Simulator, startSimulator } from '../../../packages/simulator/src/index.ts'
import { cacheGroups } from '../../../src/config/schema.ts'
import { type RunningEdge, startEdge } from '../../support/edge.ts'
import { startRedis } from '../../support/redis.ts'

const PASSWORD = 'only-for-tests'
const AGENTS = 130
const ROWS_PER_PAGE = 20

interface Page {
  readonly items: readonly { readonly id: string; readonly name: string }[]
  readonly totalItems: number
  readonly cacheStatus: string
}

async function pageOf(base: string, authorization: string, query: string): Promise<Page> {
  const response = await fetch(`${base}/agents?${query}`, { headers: { authorization } })
  const { data } = (await response.json()) as { data: Omit<Page, 'cacheStatus'> }
  return { ...data, cacheStatus: response.headers.get('cache-status') ?? '' }
}

/** Replicas that share a Redis, in front of one cluster. Rows are fresh during the test. */
async function replicas(
  t: Test,
  count: number,
): Promise<{ readonly simulator: Simulator; readonly edges: readonly RunningEdge[] }> {
  const simulator = await startSimulator({ agents: AGENTS, password: PASSWORD })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const cache = {
    // Processes on busy cores respond late. After the default of 50 ms, a node would answer.
    redis: { url: redis.url },
    snapshots: { groups: ['agents'] },
    ttl: Object.fromEntries(cacheGroups.map((group) => [group, '10m'])),
  }
  const settings = { cache, access: { limits: { requestsPerSecond: 100_000 } } }
  const edges: RunningEdge[] = []
  for (let number = 0; number < count; number += 1) {
    const edge = await startEdge({ nodes: simulator.nodes, password: PASSWORD, settings })
    t.teardown(() => edge.close())
    edges.push(edge)
  }
  return { simulator, edges }
}

/** Registers an agent, removes one and renames one on the manager itself, so that the edge does not see a write. */
function change({ world }: Simulator, step: number): void {
  const [first, second] = [...world.agents.values()].filter(({ id }) => id !== '000')
  if (first === undefined || second === undefined) throw new Error('the simulated cluster has no agents')
  world.agents.delete(first.id)
  const id = String(900 + step)
  world.agents.set(id, { ...first, id, name: `new-${id}` })
  second.name = `renamed-${step}`
}

/** Walks through all pages, through one replica after the other, while the rows change. */
async function walk(
  { simulator, edges }: Awaited<ReturnType<typeof replicas>>,
  query: string,
  isChanging: boolean,
): Promise<readonly Page[]> {
  const pages: Page[] = []
  for (let offset = 0; offset < (pages[0]?.totalItems ?? 1); offset += ROWS_PER_PAGE) {
    const edge = edges[pages.length % edges.length]
    if (edge === undefined) break
    const url = `${query}&offset=${offset}&limit=${ROWS_PER_PAGE}`
    pages.push(await pageOf(edge.url, edge.authorization('admin'), url))
    if (isChanging) change(simulator, pages.length)
  }
  return pages
}

async function warm({ edges: [edge] }: Awaited<ReturnType<typeof replicas>>): Promise<void> {
  for (const query of ['limit=1', 'limit=2']) await pageOf(edge?.url ?? '', edge?.authorization('admin') ?? '', query)
}

for (const count of [1, 2]) {
  t.test(`a walk through all pages sees one state while rows change, through ${count} replicas`, async (t) => {
    const cluster = await replicas(t, count)
    const { simulator, edges } = cluster
    await warm(cluster)
    const before = await pageOf(edges[0]?.url ?? '', edges[0]?.authorization('admin') ?? '', 'limit=1000')
    t.equal(before.totalItems, AGENTS + 1)
    simulator.seen.length = 0
    for (const query of ['sort=-name', 'sort=%2Bos.platform', 'q=id!=000', 'status=Active&sort=ip']) {
      const pages = await walk(cluster, query, true)
      const rows = pages.flatMap(({ items }) => items)
      t.ok(pages.length > 1, `${query}: several pages`)
      t.strictSame([...new Set(pages.map(({ totalItems }) => totalItems))], [rows.length], `${query}: one total`)
      t.equal(new Set(rows.map(({ id }) => id)).size, rows.length, `${query}: no row twice`)
      const names = new Map(before.items.map(({ id, name }) => [id, name]))
      t.ok(
        rows.every(({ id, name }) => names.get(id) === name),
        `${query}: all rows are of the first state`,
      )
      if (query.startsWith('sort')) t.equal(rows.length, before.totalItems, `${query}: no row is missing`)
      for (const { cacheStatus } of pages) t.match(cacheStatus, /; hit;.*detail=snapshot/)
    }
    const calls = simulator.seen.filter(({ url }) => url.startsWith('/agents'))
    t.strictSame(calls, [], 'no page costs a call')
  })
}

t.test('the walk after a purge sees the changed rows', async (t) => {
  const cluster = await replicas(t, 2)
  await warm(cluster)
  await walk(cluster, 'sort=name', true)
  const [edge] = cluster.edges
  const headers = { authorization: edge?.authorization('admin') ?? '' }
  t.equal((await fetch(`${edge?.url}/cache/agents`, { method: 'DELETE', headers })).status, 200)
  await warm(cluster)
  const pages = await walk(cluster, 'sort=name', false)
  const rows = pages.flatMap(({ items }) => items)
  const present = [...cluster.simulator.world.agents.values()].map(({ id, name }) => `${id} ${name}`)
  t.strictSame(rows.map(({ id, name }) => `${id} ${name}`).sort(), present.sort())
  t.ok(present.some((agent) => agent.includes('renamed-')))
})
