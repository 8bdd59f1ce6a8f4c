/**
 * Measures the memory of a whole replica with the default settings, also while the console lists and searches 100,000
 * stored responses, and of the local tier alone: the additional memory of a process with 100,000 entries of 2 kB,
 * filled by its own fetches and, in a second process, from Redis. Prints figures and limits; exits with 1 if one is
 * exceeded or a measurement did not see what it counts. `--replica`: only the whole replica.
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { startRedis } from '../support/redis.ts'
import { openRedisStore } from '../support/redis-store.ts'
import { LOCAL_BYTES, measureReplica, ROWS } from './memory-console.ts'
import { MiB, residentBytes } from './memory-formula.ts'

const ENTRIES = 100_000
const BYTES = 2048
const AGENTS = 1000
/** The goal: a factor of the bytes and a constant. */
const MOST = 1.5 * ENTRIES * BYTES + 120e6
const AT_ONCE = 50

type Way = 'filled here' | 'read from Redis'

interface Told {
  readonly way: Way
  readonly resident: number
  readonly used: number
  /** Entries in the local tier. */
  readonly near: number
}

/** Creates entries like the cache stage: a digest as the key, with shared tags. */
function entry(at: number) {
  const url = `/syscollector/${at % AGENTS}/packages?offset=${at}`
  const tags = ['cache', 'cache:syscollector', `agent:${at % AGENTS}`]
  return { key: `bench-${at}-${'k'.repeat(32)}`, url, tags }
}

async function hold(way: Way, url: string): Promise<Told> {
  // No entry is evicted or expires, so all of them are measured.
  const times = { commandTimeout: 5000, bulkTimeout: 10_000, socketTimeout: 15_000, lease: 20_000 }
  const store = await openRedisStore({ redis: { url }, localBytes: 4 * ENTRIES * BYTES, times })
  const before = memory()
  for (let from = 0; from < ENTRIES; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => (way === 'filled here' ? fill : read)(from + at)))
  // Pending writes are complete.
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const after = memory()
  let near = 0
  for (let at = 0; at < ENTRIES; at++) {
    const look = await store.lookup(entry(at).key, entry(at).tags)
    if (look.kind === 'hit' && look.isLocal) near++
  }
  await store.close()
  return { way, resident: after.resident - before.resident, used: after.used - before.used, near }

  async function fill(at: number): Promise<void> {
    const { key, url, tags } = entry(at)
    const look = await store.lookup(key, tags)
    if (look.kind === 'unavailable') throw new Error('Redis does not answer')
    const bytes = Buffer.from(randomBytes(BYTES / 2).toString('hex'))
    const times = { ttl: 3_600_000, staleWhileRevalidate: 0, staleIfError: 0 }
    const answer = { status: 200, body: bytes, etag: `"${key.slice(0, 27)}"`, ...times, fetchTime: 100 }
    const listed = { url, group: 'syscollector', endpoint: '/syscollector/:agent_id/packages', scope: 'everyone', tags }
    await store.store({ key, tags, epochs: look.epochs, response: answer, info: listed })
  }
  async function read(at: number): Promise<void> {
    await store.lookup(entry(at).key, entry(at).tags)
  }
}

function memory(): { readonly resident: number; readonly used: number } {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') for (let turn = 0; turn < 3; turn++) collect()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { resident: rss, used: heapUsed + external }
}

/** Runs in a separate process, so that the baseline is not affected by the other measurement. */
function measure(way: Way, url: string): Promise<Told> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL(import.meta.url), [way, url])
    child.once('message', (told) => resolve(told as Told))
    child.once('exit', (code) => reject(new Error(`${way}: ended with ${code}`)))
  })
}

const inMiB = (bytes: number): string => `${(bytes / MiB).toFixed(0)} MiB`

async function measureWholeReplica(): Promise<boolean> {
  console.log(`a replica with the default settings and ${ROWS} stored responses: resident, highest so far`)
  const measured = await measureReplica(({ step, resident, peak }) => {
    console.log(`  ${step}: ${inMiB(resident)}, ${inMiB(peak)}`)
  })
  const limit = residentBytes({ localBytes: LOCAL_BYTES, rows: ROWS })
  const peak = Math.max(...measured.map((each) => each.peak))
  console.log(`  ${peak <= limit ? 'reached' : 'missed'} (≤ ${inMiB(limit)} by the formula)`)
  return peak <= limit
}

async function measureLocalTier(): Promise<boolean> {
  const redis = await startRedis()
  let isReached = true
  try {
    console.log(`${ENTRIES} entries of ${BYTES} B in the local tier: ${inMiB(ENTRIES * BYTES)} of bodies`)
    for (const each of ['filled here', 'read from Redis'] as const) {
      const { resident, used, near } = await measure(each, redis.url)
      // A timeout on a busy machine may omit a few entries.
      const isComplete = near >= 0.99 * ENTRIES
      const verdict = !isComplete ? `only ${near} are local` : resident <= MOST ? 'reached' : 'missed'
      isReached = isReached && verdict === 'reached'
      console.log(`  ${each}: ${inMiB(resident)} resident, ${inMiB(used)} in use · ${verdict} (≤ ${inMiB(MOST)})`)
    }
  } finally {
    await redis.close()
  }
  return isReached
}

const [way, url] = process.argv.slice(2)
if (way !== undefined && url !== undefined) {
  const told = await hold(way as Way, url)
  process.send?.(told, () => process.exit(0))
} else {
  const isReplicaReached = await measureWholeReplica()
  const isTierReached = way === '--replica' || (await measureLocalTier())
  process.exitCode = isReplicaReached && isTierReached ? 0 : 1
}
