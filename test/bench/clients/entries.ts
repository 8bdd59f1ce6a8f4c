/**
 * Measures through which nodes the reads of a busy cluster should enter: the master only, or the workers too. Each
 * caller has always one call in flight, as a slot of the edge has under load, and the nodes' own caches are bypassed.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { NodeCapacity } from '../../../packages/simulator/src/capacity.ts'
import { Connections } from './connections.ts'
import { basic, nodePassword, startCluster } from './parties.ts'
import { CLIENT_TIMEOUT_MS } from './session.ts'

type Say = (text: string) => void

const READS = [
  { target: '/agents/summary', meaning: 'a worker hands it on to the master' },
  { target: '/rules?limit=10', meaning: 'each node answers from its own copy' },
]
/** Calls in flight on the master and on each of two workers. */
const CALLERS: readonly (readonly [number, number, number])[] = [
  [4, 0, 0],
  [3, 1, 0],
  [2, 1, 1],
  [4, 1, 1],
  [4, 4, 4],
  [0, 2, 2],
]

export async function measureEntries(seconds: number, say: Say): Promise<void> {
  say('| machines | read | calls in flight by master · worker-1 · worker-2 | answers/s | of them through the master |')
  say('|---|---|---|---|---|')
  for (const machines of ['own', 'shared'] as const) {
    for (const { target, meaning } of READS) {
      for (const callers of CALLERS) {
        const answers = await measureCallers(target, callers, { seconds, machines })
        const all = answers.reduce((sum, one) => sum + one, 0)
        const [master = 0] = answers
        say(
          `| ${machines} | ${target}: ${meaning} | ${callers.join(' · ')} | ${all.toFixed(1)} | ${master.toFixed(1)} |`,
        )
      }
    }
  }
}

/** Returns the answers per second of each node. Throws if an answer is an error. */
async function measureCallers(
  target: string,
  callers: readonly number[],
  { seconds, machines }: { readonly seconds: number } & Required<Pick<NodeCapacity, 'machines'>>,
): Promise<number[]> {
  const cluster = await startCluster({ workers: 2, agents: 10, capacity: { work: 0.4, atOnce: 4, machines } })
  const authorization = basic('edge', nodePassword)
  const headers = `Host: manager\r\nAuthorization: ${authorization}\r\nx-apicache-bypass: 1\r\nConnection: close\r\n`
  const answers = callers.map(() => 0)
  let failure: Error | undefined
  let isOver = false
  const pools = cluster.nodes.map(({ url }, node) => {
    const pool = new Connections({ url, headers, keepAlive: false, timeoutMs: CLIENT_TIMEOUT_MS })
    const next = (): void =>
      pool.get(target, ({ status, beginning, fault }) => {
        if (isOver) return
        if (status === 200 && beginning.startsWith('{"error":0,')) answers[node] = (answers[node] ?? 0) + 1
        else failure ??= new Error(`${target}: ${fault ?? `${status} ${beginning}`}`)
        next()
      })
    for (let caller = 0; caller < (callers[node] ?? 0); caller += 1) next()
    return pool
  })
  await wait(1000 * seconds)
  isOver = true
  for (const pool of pools) pool.close()
  cluster.close()
  if (failure !== undefined) throw failure
  return answers.map((count) => count / seconds)
}
