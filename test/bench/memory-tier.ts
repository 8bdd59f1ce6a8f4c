/**
 * Measures the memory of the local tier of the cache: the additional memory of a process with 100,000 entries of 2 kB.
 * `measureTier` runs the measurement in a separate process, which is this file.
 */
import { fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openRedisStore } from '../support/redis-store.ts'
import { storedResponse } from '../support/stored-response.ts'

export const ENTRIES = 100_000
export const ENTRY_BYTES = 2048
/** A response with one row. */
export const SMALL_ENTRY_BYTES = 384
const AGENTS = 1000
const CONCURRENCY = 50

/** How the entries get into the local tier: stored by this process, or read from Redis. */
export type Filling = 'filled here' | 'read from Redis'

export interface TierMemory {
  /** Additional resident bytes, and additional bytes in use. */
  readonly resident: number
  readonly used: number
  /** Entries in the local tier. */
  readonly localEntries: number
  /** The same as `resident` after a first hit of each entry. */
  readonly residentAfterHits: number
  /** The part of `cache.localBytes` that is counted for the entries. */
  readonly counted: number
}

/**
 * Runs in a separate process, so that one measurement does not affect the baseline of the next. `bytes`: of a body. Only
 * entries that were stored before with this size can be read from Redis.
 */
export function measureTier(filling: Filling, redisUrl: string, bytes: number): Promise<TierMemory> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL(import.meta.url), [filling, redisUrl, String(bytes)])
    child.once('message', (memory) => resolve(memory as TierMemory))
    child.once('exit', (code) => reject(new Error(`${filling}: ended with ${code}`)))
  })
}

/** Creates entries like the cache stage: a digest as the key, with shared tags. */
function entry(at: number) {
  const url = `/syscollector/${at % AGENTS}/packages?offset=${at}`
  const tags = ['cache', 'cache:syscollector', `agent:${at % AGENTS}`]
  return { key: `bench-${at}-${'k'.repeat(32)}`, url, tags }
}

async function measure(filling: Filling, url: string, bytes: number): Promise<TierMemory> {
  // No entry is evicted or expires, so all of them are measured.
  const times = { commandTimeout: 5000, bulkTimeout: 10_000, socketTimeout: 15_000, lease: 20_000 }
  const store = await openRedisStore({ redis: { url }, localBytes: () => 4 * ENTRIES * ENTRY_BYTES, times })
  const before = memory()
  const add = filling === 'filled here' ? fill : read
  for (let from = 0; from < ENTRIES; from += CONCURRENCY)
    await Promise.all(Array.from({ length: CONCURRENCY }, (_, at) => add(from + at)))
  // Pending writes are complete.
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const after = memory()
  let localEntries = 0
  for (let at = 0; at < ENTRIES; at++) {
    const lookup = await store.lookup(entry(at).key, entry(at).tags)
    if (lookup.kind === 'hit' && lookup.isLocal) localEntries++
  }
  const { resident: residentAfterHits } = memory()
  const counted = store.state().local.bytes
  await store.close()
  return {
    resident: after.resident - before.resident,
    used: after.used - before.used,
    localEntries,
    residentAfterHits: residentAfterHits - before.resident,
    counted,
  }

  async function fill(at: number): Promise<void> {
    const { key, url, tags } = entry(at)
    const lookup = await store.lookup(key, tags)
    if (lookup.kind === 'unavailable') throw new Error('Redis does not respond')
    const body = Buffer.from(randomBytes(bytes / 2).toString('hex'))
    const lifetimes = { ttl: 3_600_000, staleWhileRevalidate: 0, staleIfError: 0 }
    const stored = storedResponse(body, { etag: `"${key.slice(0, 27)}"`, ...lifetimes, fetchTime: 100 })
    const info = { url, group: 'syscollector', endpoint: '/syscollector/:agent_id/packages', scope: 'everyone', tags }
    await store.store({ key, tags, epochs: lookup.epochs, stored, info })
  }
  async function read(at: number): Promise<void> {
    await store.lookup(entry(at).key, entry(at).tags)
  }
}

/** Of this process, after the garbage was collected. */
export function memory(): { readonly resident: number; readonly used: number } {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') for (let turn = 0; turn < 3; turn++) collect()
  const { rss, heapUsed, external } = process.memoryUsage()
  return { resident: rss, used: heapUsed + external }
}

const [filling, redisUrl, bytes] = process.argv.slice(2)
if (process.send !== undefined && process.argv[1] === import.meta.filename && redisUrl !== undefined) {
  process.send(await measure(filling as Filling, redisUrl, Number(bytes)), () => process.exit(0))
}
