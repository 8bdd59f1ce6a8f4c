/** The table of docs/cache.md, "What each fault of a link means": each row with real links, and what it promises. */
import t from 'tap'
import type { Fault } from '../../../faults/proxy.ts'
import { eventually } from '../../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../../support/redis.ts'
import { startWorld, TAG, type World, type WriteOutcome } from './links.ts'
import { shortTimes, sleep } from './replicas.ts'

const slow: Fault = { kind: 'link', toTarget: { delay: 75 }, toClient: { delay: 75 } }
const requestsLost: Fault = { kind: 'link', toTarget: { loss: 1 } }
const responsesLost: Fault = { kind: 'link', toClient: { loss: 1 } }
const partition: Fault = { kind: 'link', toTarget: { loss: 1 }, toClient: { loss: 1 } }
const refused: Fault = { kind: 'refuse' }
const healthy: Fault = { kind: 'pass' }

/** Reads wait less than this for a link that has a round trip of 150 ms. */
const times = { ...shortTimes, commandTimeout: 60, socketTimeout: 1500 }
const FENCE_LEASE_MS = 900
/** What a write may wait for Redis before it is sent, and afterwards. */
const WAIT_MS = 1200
/** The same for a write that is done in the end: on busy cores, a new connection may be closed several times before. */
const PATIENT_WAIT_MS = 15_000

// Each test has its own Redis, and spends its time waiting.
t.jobs = 8

interface Row {
  readonly name: string
  /** From before the write on. */
  readonly links?: { readonly writer?: Fault; readonly reader?: Fault }
  /** While the upstream carries out the write. */
  readonly during?: (world: World, redis: RedisServer) => Promise<void>
  readonly outcome: WriteOutcome
  readonly fenceLease?: number
}

const rows: readonly Row[] = [
  { name: 'writer slow', links: { writer: slow }, outcome: 'done' },
  { name: 'reader slow', links: { reader: slow }, outcome: 'done' },
  { name: 'both slow', links: { writer: slow, reader: slow }, outcome: 'done' },
  { name: 'requests of the writer lost', links: { writer: requestsLost }, outcome: 'refused' },
  { name: 'responses to the writer lost', links: { writer: responsesLost }, outcome: 'refused' },
  { name: 'writer partitioned', links: { writer: partition }, outcome: 'refused' },
  { name: 'writer refused', links: { writer: refused }, outcome: 'refused' },
  { name: 'requests of the reader lost', links: { reader: requestsLost }, outcome: 'done' },
  { name: 'responses to the reader lost', links: { reader: responsesLost }, outcome: 'done' },
  { name: 'reader partitioned', links: { reader: partition }, outcome: 'done' },
  { name: 'reader refused', links: { reader: refused }, outcome: 'done' },
  { name: 'both partitioned', links: { writer: partition, reader: partition }, outcome: 'refused' },
  {
    name: 'a balancer closes connections of the writer that are idle',
    links: { writer: { kind: 'idleClose', least: 1, most: 300 } },
    outcome: 'done',
  },
  { name: 'during the write, requests lost', during: ({ writer }) => writer.set(requestsLost), outcome: 'unconfirmed' },
  {
    name: 'during the write, responses lost',
    during: ({ writer }) => writer.set(responsesLost),
    outcome: 'unconfirmed',
  },
  { name: 'during the write, partition', during: ({ writer }) => writer.set(partition), outcome: 'unconfirmed' },
  { name: 'during the write, refused', during: ({ writer }) => writer.set(refused), outcome: 'unconfirmed' },
  {
    name: 'during the write, refused for longer than the lease of its fence',
    during: async ({ writer }) => {
      await writer.set(refused)
      await sleep(FENCE_LEASE_MS + 100)
    },
    fenceLease: FENCE_LEASE_MS,
    outcome: 'unconfirmed',
  },
  {
    name: 'during the write, a connection is cut and comes back',
    during: async ({ writer }) => {
      await writer.set(refused)
      await writer.set(healthy)
    },
    outcome: 'done',
  },
  {
    name: 'during the write, a connection is closed in the middle of a reply, and comes back',
    during: async ({ writer }) => {
      await writer.set({ kind: 'cut', after: 3 })
      setTimeout(() => writer.set(healthy), 150)
    },
    outcome: 'done',
  },
  { name: 'during the write, Redis restarts without data', during: (_, redis) => redis.restart(), outcome: 'done' },
]

for (const { name, links = {}, during, outcome, fenceLease } of rows) {
  const wait = outcome === 'done' ? PATIENT_WAIT_MS : WAIT_MS
  t.test(`${name}: the write is ${outcome}, and no read is stale`, { buffered: true }, async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.close())
    const world = await startWorld(t, redis, { times: { ...times, ...(fenceLease && { fenceLease }) } })
    const { writer, reader, readMeanwhile, stale, sent, recovered } = world
    await readMeanwhile(async () => {
      t.equal(await writer.write(), 'done', 'without a fault')
      await reader.read()
      if (links.writer !== undefined) await writer.set(links.writer)
      if (links.reader !== undefined) await reader.set(links.reader)
      t.equal(await writer.write(() => during?.(world, redis) ?? Promise.resolve(), wait), outcome)
      t.equal(sent(), outcome === 'refused' ? 1 : 2, 'a refused write is not sent')
      for (let read = 0; read < 50; read += 1) await reader.read()
      await Promise.all([writer.set(healthy), reader.set(healthy)])
      await recovered()
      // Without a connection for longer than a lease, writes are refused at once until there is one.
      await eventually(async () => (await writer.write()) === 'done')
    })
    await recovered()
    t.strictSame(stale, [])
  })
}

t.test(
  'a write whose first one is still pending is done, and both fences are lifted',
  { buffered: true },
  async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.close())
    const { writer, reader, readMeanwhile, stale, recovered } = await startWorld(t, redis, { times })
    await readMeanwhile(async () => {
      await reader.read()
      t.equal(await writer.write(() => writer.set(partition), WAIT_MS), 'unconfirmed')
      const second = writer.write(undefined, 10_000)
      await writer.set(slow)
      t.equal(await second, 'done')
      await writer.set(healthy)
      await recovered()
    })
    t.strictSame(stale, [])
  },
)

t.test('a writer that ends between fence and lift leaves no older value', { buffered: true }, async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const world = await startWorld(t, redis, { times: { ...times, fenceLease: FENCE_LEASE_MS } })
  const { writer, reader, readMeanwhile, stale, recovered } = world
  await readMeanwhile(async () => {
    await reader.read()
    // From then on Redis receives nothing of this replica, as if its process had been killed.
    const carriedOut = new Promise<void>((resolve) => {
      void writer.write(async () => {
        await writer.set(refused)
        resolve()
        await new Promise<never>(() => {})
      })
    })
    await carriedOut
    await recovered()
  })
  t.strictSame(stale, [])
})

t.test(
  'a reader is told of nothing while its subscription is held back, and serves nothing old',
  { buffered: true },
  async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.close())
    const { writer, reader, stale } = await startWorld(t, redis, { times })
    await reader.read()
    await eventually(async () => {
      await reader.read()
      const lookup = await reader.store.lookup('k', ['cache', TAG])
      return lookup.kind === 'hit' && lookup.isLocal
    })
    await reader.set(responsesLost)
    t.equal(await writer.write(), 'done')
    for (let read = 0; read < 50; read += 1) await reader.read()
    t.strictSame(stale, [])
  },
)
