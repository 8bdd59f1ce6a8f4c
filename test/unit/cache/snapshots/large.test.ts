import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../src/cache/stores/memory-store.ts'
import type { RedisStore } from '../../../../src/cache/stores/redis-store.ts'
import { startFaultProxy } from '../../../faults/proxy.ts'
import { edgeRequest } from '../../../support/edge-requests.ts'
import { MAX_RUNS, measureBestRun } from '../../../support/event-loop.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { openRedisStore } from '../../../support/redis-store.ts'
import { agents, settings, snapshotReplica } from './collection-node.ts'

const server = await startRedis()
t.teardown(() => server.close())
const client = server.client()

const options = { lifetimesOf: () => ({ ttl: 120_000, staleWhileRevalidate: 1000, staleIfError: 60_000 }) }
const ROWS = 20_000
/** 12 MiB of text. */
const rows = agents(ROWS).map((row, at) => ({ ...row, note: `${at} `.repeat(80) }))

async function openStore(t: Test, url = server.url): Promise<RedisStore> {
  const store = await openRedisStore({ redis: { url }, times: { commandTimeout: 1000 }, localBytes: () => 1 << 20 })
  t.teardown(() => store.close())
  return store
}

async function replicaOver(t: Test, store?: RedisStore) {
  const own = store ?? (await openStore(t))
  const built: string[] = []
  const edge = snapshotReplica(rows, {
    ...options,
    store: own,
    clock: () => performance.now(),
    onEvent: (event) => {
      if (event.kind === 'snapshotBuild') built.push(event.outcome)
    },
  })
  return { ...edge, store: own, built }
}

/** Asks one replica until it has built the snapshot. */
async function build(edge: Awaited<ReturnType<typeof replicaOver>>): Promise<void> {
  for (let at = 0; at < 22; at += 1) await edge.get({ limit: `${at + 1}`, offset: '1' })
  await eventually(() => edge.built.includes('built'))
  await eventually(async () => (await edge.get({ limit: '5', offset: '7' })).status?.hit === true)
}

t.beforeEach(() => client.flushall())

t.test('a snapshot of more than 8 MiB serves all replicas', async (t) => {
  const [one, other] = [await replicaOver(t), await replicaOver(t)]
  await build(one)
  for (const query of [
    { sort: '-name', limit: '3' },
    { offset: '19000', limit: '2' },
  ]) {
    const { body, status } = await other.get(query)
    t.strictSame(body, other.direct(query))
    t.match(status, { detail: 'snapshot' })
  }
  t.equal(other.nodes.calls, 0)
  const sizes = await Promise.all((await client.keys('edge:[cp]:*')).map((key) => client.strlen(key)))
  t.ok(Math.max(...sizes) < 256 * 1024, `no value in Redis delays other commands: ${Math.max(...sizes)} bytes`)
})

t.test('over a slow link to Redis, rows are read in few round trips', async (t) => {
  const proxy = await startFaultProxy(server.port)
  t.teardown(() => proxy.close())
  const slow = await openStore(t, `redis://127.0.0.1:${proxy.port}`)
  const [one, other] = [await replicaOver(t), await replicaOver(t, slow)]
  await build(one)
  await proxy.set({ kind: 'link', toTarget: { delay: 25 }, toClient: { delay: 25 } })
  const timeOf = async (run: () => Promise<unknown>) => {
    const begin = performance.now()
    await run()
    return performance.now() - begin
  }
  const roundTrip = await timeOf(async () => slow.lookup('nothing', ['agent:001']))
  const page = await timeOf(() => other.get({ limit: '3', offset: '9000' }))
  const { length } = await client.keys('edge:p:*')
  t.ok(page < (length / 4) * roundTrip, `${length} parts in ${(page / roundTrip).toFixed(1)} round trips`)
  t.equal(other.nodes.calls, 0)
})

t.test('if a part is missing, damaged or of another snapshot, the node answers', async (t) => {
  const disturb: Record<string, (names: string[]) => Promise<unknown>> = {
    missing: ([name = '']) => client.del(name),
    damaged: ([name = '']) => client.setrange(name, 100, '!'),
    'of another place': async ([name = '', other = '']) =>
      client.set(name, (await client.getBuffer(other)) ?? '', 'KEEPTTL'),
  }
  for (const [what, change] of Object.entries(disturb)) {
    await client.flushall()
    const [one, other] = [await replicaOver(t), await replicaOver(t)]
    await build(one)
    await change((await client.keys('edge:p:*')).sort())
    const query = { sort: '-name', limit: '3' }
    const { body, status } = await other.get(query)
    t.strictSame(body, other.direct(query), what)
    t.match(status, { fwd: 'uri-miss' }, what)
    t.equal(other.nodes.calls, 1, what)
  }
})

t.test('parts expire with their snapshot', async (t) => {
  const one = await replicaOver(t)
  await build(one)
  const left = await Promise.all((await client.keys('edge:p:*')).map((key) => client.pttl(key)))
  t.ok(left.length > 100)
  t.ok(Math.min(...left) > 100_000 && Math.max(...left) <= 181_000, `${Math.min(...left)} to ${Math.max(...left)} ms`)
})

t.test('the index shows the size of all rows, as one entry', async (t) => {
  const one = await replicaOver(t)
  await build(one)
  const listed = (await one.store.list()).filter(({ url }) => url === '/agents#*')
  t.equal(listed.length, 1)
  t.ok((listed[0]?.size ?? 0) > 10 << 20)
  t.ok(((await one.store.count()).get('agents') ?? 0) < 50)
})

t.test('other replicas read a snapshot in short turns', async (t) => {
  const one = await replicaOver(t)
  await build(one)
  const others: Awaited<ReturnType<typeof replicaOver>>[] = []
  for (let run = 0; run < MAX_RUNS; run += 1) others.push(await replicaOver(t))
  const longest = await measureBestRun(() => others.pop()?.get({ offset: '300', limit: '3' }), 20)
  t.comment(`longest turn ${longest.toFixed(1)} ms`)
  t.ok(longest < 20, `${longest} ms`)
})

t.test('a snapshot does not evict small responses', async (t) => {
  // Room for the small responses, or for all rows.
  const store = createMemoryStore({ bytes: () => 13 << 20, elapsed: () => performance.now() })
  const edge = snapshotReplica(rows, { ...options, store, clock: () => performance.now() })
  const readSmall = async () => {
    for (let id = 1; id <= 20; id += 1) {
      await edge.read(edgeRequest('GET /agents/:agent_id', { params: { agent_id: String(id) } }))
    }
  }
  await readSmall()
  for (let at = 0; at < 22; at += 1) await edge.get({ limit: `${at + 1}`, offset: '1' })
  await eventually(async () => (await edge.get({ limit: '5', offset: '7' })).status?.hit === true)
  await eventually(async () => edge.nodes.requests.filter(({ query }) => query.limit === '1000').length >= 20)
  await edge.settleBuild()
  const { calls } = edge.nodes
  await readSmall()
  t.equal(edge.nodes.calls, calls)
})

t.test('collections that do not fit into the memory for snapshots have none', async (t) => {
  const edge = snapshotReplica(agents(800), { settings: { snapshots: { ...settings, localBytes: 1000 } } })
  await edge.warm()
  t.not((await edge.get({ sort: 'name' })).status?.detail, 'snapshot')
})
