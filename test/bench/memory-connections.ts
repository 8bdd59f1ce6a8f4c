/**
 * Measures the memory of keep-alive connections in a whole replica: many connections, each of which has made one verified
 * request and is idle since.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from '../support/redis.ts'
import { basicOf, type GrowthEdge, startEdge, startOrigin } from './growth/edge.ts'
import { ANY, HIT, startClient } from './growth/orders.ts'

/** Requests before the first figure: code is compiled, and buffers have grown, in every process under load. */
const WARM_UP_REQUESTS = 20_000
const WARM_UP_CONNECTIONS = 50
const IN_FLIGHT = 16

export interface ConnectionMemory {
  readonly connections: number
  /** Additional bytes of the process, as the system counts them before garbage is collected. */
  readonly resident: number
  /** Additional bytes in use after a collection: objects, and memory outside of the heap. */
  readonly used: number
}

/** Throws if a response is not the expected one, or if a connection was closed before the measurement. */
export async function measureConnections(connections: number, tls: boolean): Promise<ConnectionMemory> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-bench-'))
  const redis = await startRedis()
  const origin = await startOrigin()
  const edge = await startEdge({ folder, origin: origin.url, redis: redis.url, tls })
  const order = { inFlight: IN_FLIGHT, entries: 1, inTurn: true, authorizations: [basicOf(0)] }
  try {
    const warmUp = await startClient({
      port: edge.port,
      connections: WARM_UP_CONNECTIONS,
      tls,
      authorization: basicOf(0),
    })
    await warmUp.run({ ...order, requests: WARM_UP_CONNECTIONS, cacheStatus: ANY })
    await warmUp.run({ ...order, requests: WARM_UP_REQUESTS, cacheStatus: HIT })
    await warmUp.close()
    const before = await memoryOf(edge)
    const client = await startClient({ port: edge.port, connections, tls, authorization: basicOf(0) })
    const { open } = await client.run({ ...order, requests: connections, cacheStatus: HIT })
    if (open !== connections) throw new Error(`${open} of ${connections} connections are open`)
    const resident = await residentOf(edge)
    const after = await memoryOf(edge)
    // They were open during the measurement: each one answers once more.
    await client.run({ ...order, requests: connections, cacheStatus: HIT })
    await client.close()
    return { connections, resident: resident - before.resident, used: after.used - before.used }
  } finally {
    await edge.stop()
    await origin.stop()
    await redis.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function memoryOf(edge: GrowthEdge): Promise<{ readonly resident: number; readonly used: number }> {
  const { rss, heapUsed, external } = await edge.heap()
  return { resident: rss, used: heapUsed + external }
}

/** TLS sessions are outside of the heap of V8 and of what it counts as external: only the system counts them. */
async function residentOf({ pid }: GrowthEdge): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
}
