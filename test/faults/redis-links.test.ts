/** Two edges over one Redis, the writer behind a link with faults: what clients of both see. */
import t from 'tap'
import { startSimulator } from '../../packages/simulator/src/index.ts'
import { type RunningEdge, startEdge } from '../support/edge.ts'
import { eventually } from '../support/eventually.ts'
import { startRedis } from '../support/redis.ts'
import { startFaultProxy } from './proxy.ts'

const PASSWORD = 'only-for-tests'
const TIMEOUT = '3s'

const [redis, simulator] = await Promise.all([
  startRedis(),
  startSimulator({ workers: 0, agents: 1, password: PASSWORD }),
])
const link = await startFaultProxy(redis.port)
const edgeWith = (port: number) => {
  const cache = { redis: { url: `redis://127.0.0.1:${port}`, timeout: '50ms' }, ttl: { agents: '60s' } }
  const settings = { cache, cluster: { limits: { timeout: TIMEOUT } } }
  return startEdge({ nodes: simulator.nodes, password: PASSWORD, settings })
}
const [writer, reader] = await Promise.all([edgeWith(link.port), edgeWith(redis.port)])
t.teardown(async () => {
  await Promise.all([writer.close(), reader.close()])
  await Promise.all([link.close(), redis.close(), simulator.close()])
})

const headersOf = (edge: RunningEdge) => ({ authorization: edge.authorization('admin') })
/** Returns the names of groups, and whether they came from the cache. */
async function groups(edge: RunningEdge): Promise<{ names: readonly string[]; isHit: boolean }> {
  const response = await fetch(`${edge.url}/agents/groups?limit=1000`, { headers: headersOf(edge) })
  t.equal(response.status, 200)
  const { data } = (await response.json()) as { data: { items: { name: string }[] } }
  return { names: data.items.map(({ name }) => name), isHit: /; hit/.test(response.headers.get('cache-status') ?? '') }
}

async function create(edge: RunningEdge, name: string) {
  const response = await fetch(`${edge.url}/agents/groups/${name}`, { method: 'PUT', headers: headersOf(edge) })
  const { error, message } = (await response.json()) as { error: number; message?: string }
  return { status: response.status, error, message, retryAfter: response.headers.get('retry-after') }
}

/** How often the nodes were asked to create this group. */
const sent = (name: string) =>
  simulator.seen.filter(({ method, url }) => method === 'PUT' && url.includes(`/${name}`)).length

async function cached(edge: RunningEdge): Promise<void> {
  await eventually(async () => (await groups(edge)).isHit)
}

t.test('no read through another edge is older than a write that an edge with a slow link acknowledged', async (t) => {
  await cached(reader)
  let hits = 0
  for (const delay of [40, 300]) {
    await link.set({ kind: 'link', toTarget: { delay }, toClient: { delay } })
    for (const name of ['first', 'second', 'third'].map((text) => `${text}-${delay}`)) {
      t.match(await create(writer, name), { status: 200, error: 0 })
      for (let read = 0; read < 20; read += 1) {
        const { names, isHit } = await groups(reader)
        t.ok(names.includes(name), `${name}, read ${read}`)
        if (isHit) hits += 1
      }
    }
  }
  t.ok(hits > 0, 'the cache was used')
  await link.set({ kind: 'pass' })
})

t.test('a write whose fence Redis does not confirm is not sent', async (t) => {
  await link.set({ kind: 'link', toClient: { loss: 1 } })
  const answer = await create(writer, 'refused')
  t.match(answer, { status: 503, error: 930, retryAfter: /^\d+$/ })
  t.equal(sent('refused'), 0)
  await link.set({ kind: 'pass' })
  await eventually(async () => (await create(writer, 'refused')).status === 200)
  t.ok((await groups(reader)).names.includes('refused'))
})

t.test('a write whose end Redis does not confirm is answered with 943, and nothing old is read', async (t) => {
  await cached(reader)
  const node = simulator.nodes[0]?.name ?? ''
  await simulator.faults.set(node, { delay: 300 })
  const answered = create(writer, 'unconfirmed')
  await eventually(() => sent('unconfirmed') === 1)
  await link.set({ kind: 'link', toTarget: { loss: 1 } })
  t.match(await answered, { status: 504, error: 943, message: /carried out.*Do not repeat it blindly/ })
  await simulator.faults.clear()
  for (let read = 0; read < 20; read += 1) {
    const { names, isHit } = await groups(reader)
    t.ok(names.includes('unconfirmed') && !isHit, 'from the manager')
  }
  await link.set({ kind: 'pass' })
  await cached(reader)
  t.ok((await groups(reader)).names.includes('unconfirmed'))
  t.equal(sent('unconfirmed'), 1)
})
