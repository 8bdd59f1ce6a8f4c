/**
 * Measures what reading the index of 100,000 stored responses in Redis costs: CPU time of the edge and of Redis, and the
 * longest turn of the event loop in CPU time. Prints the median of some runs; exits with 1 if a response is not the
 * expected one or a turn takes longer than 20 ms.
 */
import { createEntryList } from '../../src/admin/console/cache-entries.ts'
import { cacheOperations } from '../../src/cache/operations.ts'
import type { RedisStore } from '../../src/cache/stores/redis-store.ts'
import type { EdgeRequest } from '../../src/core/request.ts'
import { bodyOf, edgeRequest, lifetimes } from '../support/edge-requests.ts'
import { measureTurns } from '../support/event-loop.ts'
import { startRedis } from '../support/redis.ts'
import { openRedisStore } from '../support/redis-store.ts'
import { readOptions } from '../support/script-options.ts'
import { writeRows } from '../unit/cache/stores/many-rows.ts'

const ROWS = 100_000
const RUNS = 5
const MAX_TURN_MS = 20

interface Cost {
  readonly edge: number
  readonly redis: number
  readonly turn: number
}

interface Case {
  readonly name: string
  /** Runs before each measurement. */
  readonly prepare?: () => Promise<unknown>
  /** Returns the number of rows that the response counts. */
  readonly run: () => Promise<number>
  readonly rows: number
}

readOptions({
  name: 'bench:index',
  purpose: 'Measures what reading the index of 100,000 stored responses in Redis costs.',
  options: {},
})

const redis = await startRedis()
const client = redis.client()
const times = { commandTimeout: 5000, bulkTimeout: 10_000, socketTimeout: 15_000, lease: 20_000 }
const opened: RedisStore[] = []
const open = async () => {
  const store = await openRedisStore({ redis: { url: redis.url }, localBytes: () => 1 << 20, times })
  opened.push(store)
  return store
}
let isReached = true
const store = await open()
try {
  await writeRows(redis, store, ROWS)
  console.log(
    `${ROWS} stored responses in Redis: CPU time of the edge, of Redis, longest turn (median of ${RUNS} runs)`,
  )
  for (const each of cases(store)) await report(each)
  await report(firstListing())
} finally {
  for (const each of opened) await each.close()
  await redis.close()
}
process.exitCode = isReached ? 0 : 1

function cases(index: RedisStore): readonly Case[] {
  const operations = cacheOperations({
    index,
    enabled: true,
    defaultDuration: () => 750,
    lifetimesOf: () => lifetimes,
    sharedThroughRedis: true,
  })
  const read = async (request: Partial<EdgeRequest>) =>
    bodyOf(await operations.cacheIndex(edgeRequest('GET /cache', request))).data
  const details = (query: Record<string, string>) => async () => {
    const { totalItems } = (await read({ query: { details: 'true', ...query } })) as { totalItems: number }
    return totalItems
  }
  const write = async () => (await index.fence(['agent:000123'])).lift([])
  return [
    { name: 'details, sort=-size', run: details({ sort: '-size' }), rows: ROWS },
    { name: 'details, search=00012', run: details({ search: '00012' }), rows: 11 },
    { name: 'details, tag=agent:000077', run: details({ tag: 'agent:000077' }), rows: 1 },
    { name: 'a page of the console', run: () => consolePage(index), rows: ROWS },
    { name: 'all URLs', run: async () => ((await read({})) as { all: unknown[] }).all.length, rows: ROWS },
    { name: 'details without a sort', run: details({}), rows: ROWS },
    { name: 'counts', run: async () => ((await read({ returnMinimal: true })) as { all: number }).all, rows: ROWS },
    { name: 'details, sort=-size, after a write', prepare: write, run: details({ sort: '-size' }), rows: ROWS - 1 },
  ]
}

/** Reads until the page is complete. */
async function consolePage(index: RedisStore): Promise<number> {
  const entries = createEntryList(index)
  for (;;) {
    const { partial, total } = await entries.page({ sort: '-size' })
    if (!partial) return total
  }
}

/** Each run uses a replica that has listed nothing yet. */
function firstListing(): Case {
  let fresh: RedisStore | undefined
  return {
    name: 'the first listing of a replica',
    prepare: async () => {
      fresh = await open()
    },
    run: async () => ((await fresh?.list()) ?? []).length,
    rows: ROWS - 1,
  }
}

async function report({ name, prepare, run, rows }: Case): Promise<void> {
  const costs: Cost[] = []
  const check = (value: number) => {
    if (value !== rows) throw new Error(`${name}: ${value} rows instead of ${rows}`)
  }
  for (let at = 0; at < RUNS; at += 1) {
    await prepare?.()
    const before = { edge: ownCpu(), redis: await redisCpu() }
    check(await run())
    const [edge, ofRedis] = [ownCpu() - before.edge, (await redisCpu()) - before.redis]
    await prepare?.()
    // A separate run: the measurement of turns takes CPU time while the edge waits for Redis.
    const { value, longest } = await measureTurns(run)
    check(value)
    costs.push({ edge, redis: ofRedis, turn: longest })
  }
  const median = (of: keyof Cost) => costs.map((cost) => cost[of]).sort((a, b) => a - b)[RUNS >> 1] ?? Number.NaN
  const turn = median('turn')
  isReached = isReached && turn <= MAX_TURN_MS
  const verdict = turn <= MAX_TURN_MS ? '' : ` · missed (≤ ${MAX_TURN_MS} ms)`
  console.log(
    `  ${name}: ${median('edge').toFixed(0)} ms, ${median('redis').toFixed(0)} ms, ${turn.toFixed(1)} ms${verdict}`,
  )
}

function ownCpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function redisCpu(): Promise<number> {
  const info = await client.info('cpu')
  const seconds = ['user', 'sys'].map((kind) => Number(new RegExp(`used_cpu_${kind}:([\\d.]+)`).exec(info)?.[1]))
  return seconds.reduce((sum, each) => sum + each, 0) * 1000
}
