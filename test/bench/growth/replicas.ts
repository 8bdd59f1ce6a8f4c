/**
 * What replicas cost each other and Redis, as they grow from 1 to 16 processes with a common Redis: at rest, and for each
 * write. Every write must be seen by every replica.
 */
import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { type RedisServer, startRedis } from '../../support/redis.ts'
import { WrongResponseError } from '../verify.ts'
import { basicOf, type GrowthEdge, startEdge } from './edge.ts'
import type { Plan } from './measurements.ts'
import { type Figures, judgeFigures, printFigures, type Rates, type Totals } from './replica-figures.ts'
import { medianOf } from './rows.ts'

/** Replicas that start at the same time. */
const STARTING = 4
const WRITES_PER_SECOND = 20
/** Parts of the time at rest. */
const PARTS = 4
const READ_PATH = '/agents/001'
const WRITE_PATH = '/agents/001/restart'
const headers = { authorization: basicOf(0) }

export async function measureReplicas({ folder, origin, quick, say }: Plan): Promise<boolean> {
  const sizes = quick ? [1, 2, 4] : [1, 2, 4, 8, 16]
  const seconds = quick ? 4 : 8
  const redis = await startRedis()
  const edges: GrowthEdge[] = []
  const figures: Figures[] = []
  let written = 0
  try {
    for (const count of sizes) {
      while (edges.length < count) {
        const missing = Math.min(STARTING, count - edges.length)
        const starting = Array.from({ length: missing }, () => startEdge({ folder, origin, redis: redis.url }))
        edges.push(...(await Promise.all(starting)))
      }
      for (const edge of edges) await checkRead(edge, written)
      const rest = await restOf(redis, edges, seconds)
      let ms = 0
      const writes = seconds * WRITES_PER_SECOND
      const busy = await rates(redis, edges, seconds, async () => {
        ms = await write(edges, writes)
      })
      written += writes
      for (const edge of edges) await checkRead(edge, written)
      figures.push({ count, rest, write: each(busy, rest, (busy, rest) => (busy - rest) / WRITES_PER_SECOND), ms })
    }
  } finally {
    await Promise.all(edges.map((edge) => edge.stop()))
    await redis.close()
  }
  printFigures(figures, say)
  return judgeFigures(figures, say)
}

function each(one: Totals, other: Totals, combine: (one: number, other: number) => number): Totals {
  return {
    commands: combine(one.commands, other.commands),
    sent: combine(one.sent, other.sent),
    redis: combine(one.redis, other.redis),
    replicas: combine(one.replicas, other.replicas),
  }
}

/** Returns the medians of four parts of the time: a replica that has just started still compiles code. */
async function restOf(redis: RedisServer, edges: readonly GrowthEdge[], seconds: number): Promise<Rates> {
  const parts: Rates[] = []
  for (let part = 0; part < PARTS; part++) {
    parts.push(await rates(redis, edges, seconds / PARTS, () => wait((seconds * 1000) / PARTS)))
  }
  const median = (figure: keyof Rates) => medianOf(parts.map((rates) => rates[figure]))
  return { commands: median('commands'), sent: median('sent'), redis: median('redis'), replicas: median('replicas') }
}

async function rates(
  redis: RedisServer,
  edges: readonly GrowthEdge[],
  seconds: number,
  run: () => Promise<void>,
): Promise<Rates> {
  const before = await totals(redis, edges)
  await run()
  const after = await totals(redis, edges)
  return each(after, before, (after, before) => (after - before) / seconds)
}

/** What Redis has sent to this process. */
let sentToBench = 0
let client: ReturnType<RedisServer['client']> | undefined

async function totals(redis: RedisServer, edges: readonly GrowthEdge[]): Promise<Totals> {
  // One connection for all: a client reads `INFO` once more when it connects.
  client ??= redis.client()
  const text = await client.info()
  const figure = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(text)?.[1])
  const sent = figure('total_net_output_bytes') - sentToBench
  sentToBench += text.length
  const times = await Promise.all(edges.map(({ pid }) => runTimeOf(pid)))
  return {
    commands: figure('total_commands_processed'),
    sent,
    redis: 1e6 * (figure('used_cpu_user') + figure('used_cpu_sys')),
    replicas: times.reduce((sum, time) => sum + time, 0),
  }
}

/** Returns the CPU time of all threads of a process in microseconds. The times of `stat` are rounded to 10 ms. */
async function runTimeOf(pid: number): Promise<number> {
  const tasks = await readdir(`/proc/${pid}/task`)
  const texts = await Promise.all(
    tasks.map((task) => readFile(`/proc/${pid}/task/${task}/schedstat`, 'utf8').catch(() => '0')),
  )
  return texts.reduce((sum, text) => sum + Number(text.split(' ')[0]), 0) / 1000
}

/** Sends writes at an even rate, to the replicas in turn. Returns the mean latency in milliseconds. */
async function write(edges: readonly GrowthEdge[], count: number): Promise<number> {
  const begin = performance.now()
  let sum = 0
  await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      await wait(begin + (at * 1000) / WRITES_PER_SECOND - performance.now())
      const sentAt = performance.now()
      const edge = edges[at % edges.length]
      const response = await fetch(`${edge?.url}${WRITE_PATH}`, { method: 'PUT', headers })
      const { error } = (await response.json()) as { readonly error: number }
      if (response.status !== 200 || error !== 0) throw new WrongResponseError(`write: ${response.status}, ${error}`)
      sum += performance.now() - sentAt
    }),
  )
  return sum / count
}

/** Checks that the replica returns the present value, and that it has a local copy, which a write must invalidate. */
async function checkRead({ url }: GrowthEdge, writes: number): Promise<void> {
  for (const expected of [/manager-edge/, /; hit/]) {
    const response = await fetch(url + READ_PATH, { headers })
    const { data } = (await response.json()) as { readonly data?: { readonly writes?: number } }
    const status = response.headers.get('cache-status') ?? ''
    if (data?.writes !== writes || !expected.test(status))
      throw new WrongResponseError(`${data?.writes} instead of ${writes} writes, Cache-Status ${status}`)
  }
}
