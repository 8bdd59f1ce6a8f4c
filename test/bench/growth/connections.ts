/** CPU time per hit as open connections grow. The requests come over all of them in turn, few at the same time. */
import { startRedis } from '../../support/redis.ts'
import { basicOf, type GrowthEdge, startEdge } from './edge.ts'
import type { Plan } from './measurements.ts'
import { ANY, type Client, HIT, startClient } from './orders.ts'
import { measureSeries } from './rows.ts'

/** The same for all rows: with fewer requests in flight, the edge wakes up more often for each of them. */
const IN_FLIGHT = 10
const ENTRIES = 10

interface Connected {
  readonly connections: number
  readonly edge: GrowthEdge
  readonly client: Client
}

export async function measureConnections({ folder, origin, quick, duration, say }: Plan): Promise<boolean> {
  const sizes = quick ? [10, 100, 1_000] : [10, 100, 1_000, 10_000]
  const redis = await startRedis()
  const connected: Connected[] = []
  try {
    for (const connections of sizes) connected.push(await connect(folder, origin, redis.url, connections))
    return await measureSeries(
      {
        name: `hits over keep-alive connections in turn, ${IN_FLIGHT} at the same time, by open connections`,
        law: { kind: 'flat', factor: 1.6 },
        rows: connected.map(({ connections, edge, client }) => ({
          x: connections,
          edge,
          client,
          order: { inFlight: IN_FLIGHT, entries: ENTRIES, authorizations: [basicOf(0)] },
        })),
      },
      duration,
      say,
    )
  } finally {
    for (const { client, edge } of connected) {
      await client.close()
      await edge.stop()
    }
    await redis.close()
  }
}

/** Each connection has made a request when this resolves. */
async function connect(folder: string, origin: string, redis: string, connections: number): Promise<Connected> {
  const edge = await startEdge({ folder, origin, redis })
  const client = await startClient({ port: edge.port, connections, authorization: basicOf(0) })
  const order = { inFlight: IN_FLIGHT, entries: ENTRIES, inTurn: true, authorizations: [basicOf(0)] }
  await client.run({ ...order, requests: 2 * ENTRIES, cacheStatus: ANY })
  const { open } = await client.run({ ...order, requests: Math.max(connections, 1000), cacheStatus: HIT })
  if (open !== connections) throw new Error(`${open} of ${connections} connections are open`)
  return { connections, edge, client }
}
