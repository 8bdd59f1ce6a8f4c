/** Many different URLs, asked once each: through a whole edge with the memory store, and through the stages over Redis. */
import { ASK, type MemoryUse } from '../../../faults/coherence/memory-use.ts'
import { authorization, startReplica, startUpstream } from '../../../faults/coherence/processes.ts'
import type { RedisServer } from '../../../support/redis.ts'
import { forkScript } from '../../../support/typescript/script.ts'
import { type Pipelined, pipelined } from './pipelined.ts'

/** Milliseconds: fresh, and after that while no node answers. Short, since the end of all is waited for. */
export const KEEP_FOR = 3000
export const STALE_IF_ERROR = 5000

export interface Source {
  /** Asks for URLs nobody asked for yet; gives the rows of the index after it, and rejects when an answer is not right. */
  run(from: number, count: number): Promise<number>
  memory(): Promise<MemoryUse>
  /** Rows of the index now. */
  rows(): Promise<number>
  /** What the store said of itself, and how often. */
  events(): Readonly<Record<string, number>>
  close(): Promise<void>
}

/** No id with zeros in front, which would be another spelling of a short one. */
export const FIRST = 1_000_000
const CONNECTIONS = 32
/** Requests that a connection sends ahead. */
const AHEAD = 16
/** Of answers in the process. */
export const NEAR_BYTES = 8 << 20

export async function overHttp(): Promise<Source> {
  const upstream = await startUpstream({ delay: 0, heedsBypass: true })
  const cache = {
    nearBytes: `${NEAR_BYTES}B`,
    durations: { agents: `${KEEP_FOR}ms` },
    staleIfError: `${STALE_IF_ERROR}ms`,
  }
  const edge = await startReplica({ upstream: upstream.url, cache })
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => pipelined(edge.url)))
  const rows = async () => {
    const answer = await fetch(`${edge.url}/cache`, { headers: { authorization } })
    return ((await answer.json()) as { data: { all: string[] } }).data.all.length
  }
  return {
    rows,
    async run(from, count) {
      const end = FIRST + from + count
      let next = FIRST + from
      const caller = async ({ ask }: Pipelined) => {
        while (next < end) {
          const agents = Array.from({ length: Math.min(AHEAD, end - next) }, (_, at) => String(next + at))
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

interface Told {
  readonly events: Readonly<Record<string, number>>
  readonly rows: number
}

export async function overRedis(redis: RedisServer): Promise<Source> {
  const script = new URL('fixtures/distinct-urls.ts', import.meta.url)
  const child = forkScript(script, [redis.url, `${KEEP_FOR}`, `${STALE_IF_ERROR}`, `${NEAR_BYTES}`])
  const heard = <T>() =>
    new Promise<T>((resolve, reject) => {
      const ended = (code: number | null) => reject(new Error(`ended with ${code}`))
      child.once('exit', ended)
      child.once('message', (message) => {
        child.off('exit', ended)
        resolve(message as T)
      })
    })
  await heard()
  let last: Told = { events: {}, rows: 0 }
  const run = async (from: number, count: number) => {
    const told = heard<Told>()
    child.send({ from, count })
    last = await told
    return last.rows
  }
  return {
    run,
    rows: () => run(0, 0),
    memory() {
      const told = heard<MemoryUse>()
      child.send(ASK)
      return told
    },
    events: () => last.events,
    async close() {
      child.removeAllListeners('exit')
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await gone
    },
  }
}
