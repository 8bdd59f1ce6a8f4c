/** Requests many different URLs once: through a whole edge with the memory store, and through the stages over Redis. */
import { MEMORY_REQUEST, type MemoryUse } from '../../../faults/coherence/memory-request.ts'
import { authorization, startReplica, startUpstream } from '../../../faults/coherence/processes.ts'
import type { RedisServer } from '../../../support/redis.ts'
import { forkScript } from '../../../support/typescript/script.ts'
import { type Pipelined, pipelined } from './pipelined.ts'

/** Freshness lifetime, and stale time if nodes fail. Short, since the long check waits until everything expires. */
export const TTL_MS = 3000
export const STALE_IF_ERROR_MS = 5000

export interface Source {
  /** Requests new URLs and returns the number of index rows afterwards. Rejects for a wrong response. */
  run(from: number, count: number): Promise<number>
  memory(): Promise<MemoryUse>
  /** Returns the number of index rows. */
  rows(): Promise<number>
  /** Returns how often the store emitted each event. */
  events(): Readonly<Record<string, number>>
  close(): Promise<void>
}

/** The first agent id. Without leading zeros, which would be another spelling of a short id. */
export const FIRST_AGENT = 1_000_000
export const CONNECTIONS = 32
/** Requests that a connection sends before it reads responses. */
export const PIPELINE_DEPTH = 16
/** Size of the cache in the process. */
export const LOCAL_BYTES = 8 << 20

/** `ttl` in milliseconds. */
export async function openHttpSource({ ttl = TTL_MS } = {}): Promise<Source> {
  const upstream = await startUpstream({ delay: 0, heedsBypass: true })
  const cache = {
    localBytes: `${LOCAL_BYTES}B`,
    ttl: { agents: `${ttl}ms` },
    staleIfError: `${STALE_IF_ERROR_MS}ms`,
  }
  const edge = await startReplica({ upstream: upstream.url, cache })
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pipelined(edge.url)))
  const rows = async () => {
    const response = await fetch(`${edge.url}/cache`, { headers: { authorization } })
    return ((await response.json()) as { data: { all: string[] } }).data.all.length
  }
  return {
    rows,
    async run(from, count) {
      const end = FIRST_AGENT + from + count
      let next = FIRST_AGENT + from
      const caller = async ({ ask }: Pipelined) => {
        while (next < end) {
          const agents = Array.from({ length: Math.min(PIPELINE_DEPTH, end - next) }, (_, at) => String(next + at))
          next += agents.length
          await ask(agents)
        }
      }
      await Promise.all(clients.map(caller))
      return rows()
    },
    memory: () => edge.memory(),
    events: () => ({}),
    async close() {
      for (const client of clients) client.close()
      await Promise.all([edge.close(), upstream.close()])
    },
  }
}

interface RunResult {
  readonly events: Readonly<Record<string, number>>
  readonly rows: number
}

export async function openRedisSource(redis: RedisServer): Promise<Source> {
  const script = new URL('fixtures/distinct-urls.ts', import.meta.url)
  const child = forkScript(script, [redis.url, `${TTL_MS}`, `${STALE_IF_ERROR_MS}`, `${LOCAL_BYTES}`])
  const nextMessage = <T>() =>
    new Promise<T>((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`exited with ${code}`))
      child.once('exit', ended)
      child.once('message', (message) => {
        child.off('exit', ended)
        resolve(message as T)
      })
    })
  await nextMessage()
  let last: RunResult = { events: {}, rows: 0 }
  const run = async (from: number, count: number) => {
    const reply = nextMessage<RunResult>()
    child.send({ from, count })
    last = await reply
    return last.rows
  }
  return {
    run,
    rows: () => run(0, 0),
    memory() {
      const reply = nextMessage<MemoryUse>()
      child.send(MEMORY_REQUEST)
      return reply
    },
    events: () => last.events,
    async close() {
      child.removeAllListeners('exit')
      const exited = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await exited
    },
  }
}
