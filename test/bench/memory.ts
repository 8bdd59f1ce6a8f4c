/**
 * Measures memory (`npm run bench:memory`): of a whole replica with the default settings, also while the console lists
 * and searches 100,000 stored responses; of 10,000 idle connections, with and without TLS; of 100,000 entries in the local
 * tier, filled by its own fetches and from Redis, and in Redis; of 10,000 prepared hits. Prints figures and what the formula of docs/operations.md
 * allows; exits with 1 if a figure exceeds it or a measurement does not contain what it counts.
 */
import { type RedisServer, startRedis } from '../support/redis.ts'
import { readOptions } from '../support/script-options.ts'
import { measureConnections } from './memory-connections.ts'
import { LOCAL_BYTES, measureReplica, ROWS } from './memory-console.ts'
import {
  CONNECTION_BYTES,
  HIT_BYTES,
  LOCAL_FACTOR,
  MiB,
  redisBytes,
  residentBytes,
  SMALL_BODIES_FACTOR,
  TLS_CONNECTION_BYTES,
} from './memory-formula.ts'
import { measureHits } from './memory-hits.ts'
import { ENTRIES, ENTRY_BYTES, measureTier, SMALL_ENTRY_BYTES, type TierMemory } from './memory-tier.ts'

/** The goal: a factor of the bytes and a constant. */
const MAX_TIER_BYTES = 1.5 * ENTRIES * ENTRY_BYTES + 120e6

const parts = ['replica', 'connections', 'entries', 'hits'] as const

const { values } = readOptions({
  name: 'bench:memory',
  purpose:
    'Measures the memory of a replica, of its connections and of stored responses, and compares it with the formula.',
  options: {
    replica: { kind: 'flag', meaning: 'measure only the whole replica' },
    connections: { kind: 'flag', meaning: 'measure only connections' },
    entries: { kind: 'flag', meaning: 'measure only stored responses' },
    hits: { kind: 'flag', meaning: 'measure only prepared hits' },
    count: { kind: 'number', meaning: 'connections (default 10,000)' },
  },
})
const count = values.count ?? 10_000
const isSelected = (part: (typeof parts)[number]) => values[part] || parts.every((other) => !values[other])

const inMiB = (bytes: number): string => `${(bytes / MiB).toFixed(0)} MiB`
const inKiB = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`

async function measureWholeReplica(): Promise<boolean> {
  console.log(`a replica with the default settings and ${ROWS} stored responses: resident memory now, and its maximum`)
  const measured = await measureReplica(({ step, resident, peak }) => {
    console.log(`  ${step}: ${inMiB(resident)}, ${inMiB(peak)}`)
  })
  const limit = residentBytes({ localBytes: LOCAL_BYTES, snapshotBytes: 0, rows: ROWS })
  const peak = Math.max(...measured.map((each) => each.peak))
  console.log(`  ${peak <= limit ? 'reached' : 'missed'} (≤ ${inMiB(limit)} by the formula)`)
  return peak <= limit
}

async function measureEachConnection(): Promise<boolean> {
  console.log(`${count} idle connections, each after one request: additional memory for each of them`)
  let isReached = true
  for (const tls of [false, true]) {
    const { connections, resident, used } = await measureConnections(count, tls)
    const limit = tls ? TLS_CONNECTION_BYTES : CONNECTION_BYTES
    const fits = resident <= limit * connections
    isReached &&= fits
    const figures = `${inKiB(resident / connections)} resident, ${inKiB(used / connections)} in use`
    console.log(
      `  ${tls ? 'TLS' : 'plain'}: ${figures} · ${fits ? 'reached' : 'missed'} (≤ ${inKiB(limit)} by the formula)`,
    )
  }
  return isReached
}

async function measureEntries(): Promise<boolean> {
  const [redis, empty] = await Promise.all([startRedis(), startRedis()])
  let isReached = true
  try {
    console.log(`${ENTRIES} entries of ${ENTRY_BYTES} B in the local tier: ${inMiB(ENTRIES * ENTRY_BYTES)} of bodies`)
    for (const filling of ['filled here', 'read from Redis'] as const) {
      const measured = await measureTier(filling, redis.url, ENTRY_BYTES)
      const { resident, used, localEntries } = measured
      const isComplete = hasAllEntries(measured)
      const fits = resident <= MAX_TIER_BYTES ? 'reached' : 'missed'
      const verdict = isComplete ? fits : `only ${localEntries} are in the local tier`
      isReached = isReached && verdict === 'reached'
      const limit = `≤ ${inMiB(MAX_TIER_BYTES)}`
      const each = `${inKiB(resident / ENTRIES)} for each entry`
      console.log(`  ${filling}: ${inMiB(resident)} resident, ${inMiB(used)} in use, ${each} · ${verdict} (${limit})`)
      isReached = reportFactor(measured, LOCAL_FACTOR) && isReached
    }
    isReached = (await measureRedis(redis)) && isReached
    console.log(`${ENTRIES} entries of ${SMALL_ENTRY_BYTES} B in the local tier`)
    return (
      reportFactor(await measureTier('filled here', empty.url, SMALL_ENTRY_BYTES), SMALL_BODIES_FACTOR) && isReached
    )
  } finally {
    await Promise.all([redis.close(), empty.close()])
  }
}

/** A timeout on a busy machine may omit a few entries. */
function hasAllEntries({ localEntries }: TierMemory): boolean {
  return localEntries >= 0.99 * ENTRIES
}

/** Compares the memory after a first hit of each entry with what `cache.localBytes` counts. */
function reportFactor(measured: TierMemory, limit: number): boolean {
  const { residentAfterHits, counted, localEntries } = measured
  const factor = residentAfterHits / counted
  const fits = factor <= limit ? 'reached' : 'missed'
  const verdict = hasAllEntries(measured) ? fits : `only ${localEntries} are in the local tier`
  const each = `${inKiB(residentAfterHits / ENTRIES)} for each entry, of which ${inKiB(counted / ENTRIES)} are counted`
  console.log(`  after a first hit: ${each}, factor ${factor.toFixed(2)} · ${verdict} (≤ ${limit} by the formula)`)
  return verdict === 'reached'
}

/** The entries of the local tier, in the Redis that they were stored in and that was empty before. */
async function measureRedis(redis: RedisServer): Promise<boolean> {
  const client = redis.client()
  const keys = await client.dbsize()
  const used = Number(/^used_memory_dataset:(\d+)/m.exec(await client.info('memory'))?.[1])
  const limit = redisBytes(ENTRIES, ENTRY_BYTES)
  const verdict = keys < ENTRIES ? `only ${keys} keys are in Redis` : used <= limit ? 'reached' : 'missed'
  const each = `${inKiB(used / ENTRIES)} for each entry`
  console.log(`  in Redis: ${inMiB(used)}, ${each} · ${verdict} (≤ ${inMiB(limit)} by the formula)`)
  return verdict === 'reached'
}

async function measurePreparedHits(): Promise<boolean> {
  const { hits, used, notPrepared } = await measureHits()
  const fits = used > 0 && used <= HIT_BYTES * hits ? 'reached' : 'missed'
  const verdict = notPrepared > 0 ? `${notPrepared} of them are not prepared` : fits
  const each = `${inKiB(used / hits)} for each of them`
  console.log(`${hits} prepared hits: ${inMiB(used)}, ${each} · ${verdict} (≤ ${inKiB(HIT_BYTES)} by the formula)`)
  return verdict === 'reached'
}

let isReached = true
for (const [part, measure] of [
  ['replica', measureWholeReplica],
  ['connections', measureEachConnection],
  ['entries', measureEntries],
  ['hits', measurePreparedHits],
] as const) {
  if (isSelected(part)) isReached = (await measure()) && isReached
}
process.exitCode = isReached ? 0 : 1
