/** CPU time per hit as stored responses grow: hits of the local tier and of Redis. */
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { WrongResponseError } from '../verify.ts'
import { basicOf, type GrowthEdge, startEdge } from './edge.ts'
import { fillRedis } from './fill.ts'
import type { Plan } from './measurements.ts'
import { ANY, type Client, HIT, startClient } from './orders.ts'
import { countText, type HitRow, measureSeries } from './rows.ts'

const IN_FLIGHT = 16
/** Requested entries of the rows whose hits are all in the local tier. */
const WORKING_SET = 1000
const MiB = 1 << 20
/** The least that the edge accepts. It holds some 800 entries: of more than these in turn, each one is read from Redis. */
const MIN_LOCAL_BYTES = MiB
/** Entries for which a local tier is made: half of them would be read again after an eviction, which costs a call to Redis. */
const LOCAL_BYTES_PER_ENTRY = 2048

interface Stored {
  readonly redis: RedisServer
  readonly entries: number
  /** The local tier of `edge` holds all entries, that of `small` fewer than are requested in turn. */
  readonly edge: GrowthEdge
  readonly small: GrowthEdge
  readonly client: Client
  readonly smallClient: Client
}

export async function measureEntries({ folder, origin, quick, duration, say }: Plan): Promise<boolean> {
  const sizes = quick ? [1_000, 10_000, 100_000] : [1_000, 100_000, 1_000_000]
  const maxLocal = quick ? 10_000 : 100_000
  const stored: Stored[] = []
  try {
    for (const entries of sizes) {
      const begin = performance.now()
      stored.push(await store(folder, origin, entries, Math.min(entries, maxLocal)))
      say(`  ${countText(entries)} entries are stored, ${((performance.now() - begin) / 1000).toFixed(0)} s`)
    }
    return await measureHits(stored, maxLocal, duration, say)
  } finally {
    for (const { redis, edge, small, client, smallClient } of stored) {
      await Promise.all([client.close(), smallClient.close()])
      await Promise.all([edge.stop(), small.stop()])
      await redis.close()
    }
  }
}

/** Measures hits of the local tier and of Redis, prints them, and returns whether all laws hold. */
async function measureHits(
  stored: readonly Stored[],
  maxLocal: number,
  duration: Plan['duration'],
  say: Plan['say'],
): Promise<boolean> {
  const order = { inFlight: IN_FLIGHT, authorizations: [basicOf(0)] }
  const row = (x: number, edge: GrowthEdge, client: Client, entries: number): HitRow => ({
    x,
    edge,
    client,
    order: { ...order, entries },
  })
  const inTurn = (row: HitRow): HitRow => ({ ...row, order: { ...row.order, inTurn: true } })
  const verdicts = [
    await measureSeries(
      {
        name: `local hits of ${countText(WORKING_SET)} responses, by responses that are stored in Redis`,
        law: { kind: 'flat', factor: 1.25 },
        rows: stored.map((each) => row(each.entries, each.edge, each.client, WORKING_SET)),
      },
      duration,
      say,
    ),
    await measureSeries(
      {
        name: 'hits of Redis, by responses that are stored there',
        law: { kind: 'flat', factor: 1.75 },
        rows: stored.map((each) => inTurn(row(each.entries, each.small, each.smallClient, each.entries))),
      },
      duration,
      say,
    ),
  ]
  for (const each of stored) await checkRedisHits(each)
  // The local tiers are filled last: each of them reads all of its entries.
  const local: HitRow[] = []
  for (const { entries, edge, client } of stored) {
    if (entries > maxLocal) continue
    const once = { ...order, entries, inTurn: true, requests: entries, cacheStatus: HIT }
    await client.run(once)
    local.push(row(entries, edge, client, entries))
  }
  verdicts.push(
    await measureSeries(
      {
        name: 'local hits, by responses in the local tier, all of which are requested',
        // The URLs of 100,000 responses are more than a replica prepares: their hits run through the pipeline.
        law: { kind: 'flat', factor: 10 },
        rows: local,
      },
      duration,
      say,
    ),
  )
  return verdicts.every(Boolean)
}

/** Throws if hits of the edge with the small local tier are not hits of Redis. */
async function checkRedisHits({ redis, entries, smallClient }: Stored): Promise<void> {
  const hits = async () => Number(/^keyspace_hits:(\d+)/m.exec(await redis.client().info('stats'))?.[1])
  const before = await hits()
  const order = { inFlight: IN_FLIGHT, authorizations: [basicOf(0)], entries, inTurn: true, cacheStatus: HIT }
  const { responses } = await smallClient.run({ ...order, requests: WORKING_SET })
  const counted = (await hits()) - before
  if (counted < responses) throw new WrongResponseError(`${counted} hits of Redis for ${responses} responses`)
}

async function store(folder: string, origin: string, entries: number, local: number): Promise<Stored> {
  const redis = await startRedis()
  const common = { folder, origin, redis: redis.url }
  const localBytes = Math.max(64 * MiB, local * LOCAL_BYTES_PER_ENTRY)
  const [edge, small] = await Promise.all([
    startEdge({ ...common, localBytes }),
    startEdge({ ...common, localBytes: MIN_LOCAL_BYTES }),
  ])
  const [client, smallClient] = await Promise.all(
    [edge, small].map(({ port }) => startClient({ port, connections: IN_FLIGHT, authorization: basicOf(0) })),
  )
  if (client === undefined || smallClient === undefined) throw new Error('no clients')
  const first = { inFlight: 1, requests: 1, entries: 1, authorizations: [basicOf(0)], cacheStatus: ANY }
  await client.run(first)
  await smallClient.run(first)
  await fillRedis(redis, entries)
  // Twice: a URL is a prepared hit from its second request on.
  for (const each of [client, smallClient]) {
    await each.run({
      ...first,
      entries: WORKING_SET,
      inTurn: true,
      requests: 2 * WORKING_SET,
      inFlight: IN_FLIGHT,
      cacheStatus: HIT,
    })
  }
  return { redis, entries, edge, small, client, smallClient }
}
