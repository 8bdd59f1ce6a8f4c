/** Rows of hits: requests to edges, measured in turn so that a change of the machine's speed affects all rows. */
import { setTimeout as wait } from 'node:timers/promises'
import { cpuOf } from '../load.ts'
import type { GrowthEdge } from './edge.ts'
import { format, judge, type Law } from './laws.ts'
import { type Client, HIT, type RunOrder } from './orders.ts'

export interface HitRow {
  /** Entries, connections or users. */
  readonly x: number
  readonly edge: GrowthEdge
  readonly client: Client
  readonly order: Omit<RunOrder, 'kind' | 'ms' | 'cacheStatus'>
}

export interface Series {
  readonly name: string
  readonly law: Law
  readonly rows: readonly HitRow[]
}

export interface Duration {
  readonly rounds: number
  readonly ms: number
}

export type Say = (text: string) => void

interface Sample {
  readonly cpu: number
  readonly p50: number
  readonly p99: number
}

const PAUSE_MS = 200
/** Hits before the first round: until then, the code of the edge is not compiled. */
const WARM_UP_HITS = 15_000

/** Measures all rows of the series in each round, prints the medians, and returns whether the law holds. */
export async function measureSeries({ name, law, rows }: Series, { rounds, ms }: Duration, say: Say): Promise<boolean> {
  const samples = rows.map((): Sample[] => [])
  for (const { client, order } of rows) await client.run({ ...order, requests: WARM_UP_HITS, cacheStatus: HIT })
  for (let round = 0; round < rounds; round++) {
    for (const [at, row] of rows.entries()) samples[at]?.push(await measureRow(row, ms))
  }
  say(`\n${name}`)
  const points = rows.map(({ x }, at) => {
    const median = (figure: keyof Sample) => medianOf((samples[at] ?? []).map((sample) => sample[figure]))
    const [cpu, p50, p99] = [median('cpu'), median('p50'), median('p99')]
    say(
      `  ${countText(x).padStart(9)}  ${format(cpu).padStart(6)} µs of CPU per hit, latency ${p50.toFixed(2)} ms (p99 ${p99.toFixed(2)})`,
    )
    return { x, y: cpu }
  })
  const { holds, text } = judge(law, points, 'µs')
  say(`  ${text}`)
  return holds
}

async function measureRow({ edge, client, order }: HitRow, ms: number): Promise<Sample> {
  // Work that the row before has left, such as hit counts to write, is done.
  await wait(PAUSE_MS)
  const before = await cpuOf(edge.pid)
  const { responses, p50, p99 } = await client.run({ ...order, ms, cacheStatus: HIT })
  return { cpu: ((await cpuOf(edge.pid)) - before) / responses, p50, p99 }
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

export const countText = (count: number): string => count.toLocaleString('en')
