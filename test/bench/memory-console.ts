/**
 * Measures the memory of a whole replica with the default settings: after the start, with a full local tier, and while
 * the console lists and searches the index of 100,000 stored responses and a client reads it from `/cache`.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Pool } from 'undici'
import { startRedis } from '../support/redis.ts'
import { openRedisStore } from '../support/redis-store.ts'
import { writeRows } from '../unit/cache/stores/many-rows.ts'
import { bare, basic, edge } from './contenders.ts'
import { MiB } from './memory-formula.ts'

export const ROWS = 100_000
/** The default of `cache.localBytes`. */
export const LOCAL_BYTES = 64 * MiB
/** More responses of 1.8 kB than the local tier holds. */
const RESPONSES = 36_000
const CONNECTIONS = 32
const MAX_ROUNDS = 4
const SORTS = ['url', '-size', '-hits', 'timeLeft']
const SEARCHES = ['agents/000', '77', 'agents 9', 'nothing']

export interface ReplicaMemory {
  readonly step: string
  /** Bytes now, and the highest so far. */
  readonly resident: number
  readonly peak: number
}

/** Throws if a response is not the expected one. */
export async function measureReplica(onStep: (memory: ReplicaMemory) => void): Promise<readonly ReplicaMemory[]> {
  const folder = await mkdtemp(join(tmpdir(), 'edge-bench-'))
  const redis = await startRedis()
  const origin = await bare()
  const replica = await edge({ folder, origin: origin.url }, { redis: redis.url })
  const measured: ReplicaMemory[] = []
  const note = async (step: string) => {
    const memory = { step, ...(await memoryOf(replica.pid)) }
    measured.push(memory)
    onStep(memory)
  }
  try {
    await note('after the start')
    await fillLocalTier(replica)
    await note('with a full local tier')
    const times = { commandTimeout: 5000, bulkTimeout: 10_000, socketTimeout: 15_000, lease: 20_000 }
    const store = await openRedisStore({ redis: { url: redis.url }, localBytes: () => 1 << 20, times })
    await writeRows(redis, store, ROWS)
    await store.close()
    for (const sort of SORTS) {
      await listEntries(replica.operations, `sort=${sort}`)
      for (const search of SEARCHES)
        await listEntries(replica.operations, `sort=${sort}&search=${encodeURIComponent(search)}`)
      // A purge discards what was read, so that the next listing reads the index again.
      await discardListing(replica.operations)
    }
    await note('after listings and searches in the console')
    await readIndex(`${replica.url}/cache`)
    await readIndex(`${replica.url}/cache?details=true&search=agents/0001&limit=1000`)
    await note('after the whole index from /cache')
    return measured
  } finally {
    await replica.stop()
    await origin.stop()
    await redis.close()
    await rm(folder, { recursive: true, force: true })
  }
}

async function memoryOf(pid: number): Promise<{ readonly resident: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
  return { resident: kib('VmRSS') * 1024, peak: kib('VmHWM') * 1024 }
}

/** A timeout of Redis on a busy machine leaves responses out of the local tier, so that others must be read. */
async function fillLocalTier({
  url,
  operations,
}: {
  readonly url: string
  readonly operations: string
}): Promise<void> {
  let bytes = 0
  for (let round = 0; round < MAX_ROUNDS && !(bytes > 0.9 * LOCAL_BYTES); round += 1) {
    await readResponses(url, round * RESPONSES)
    const response = await fetch(`${operations}/metrics`, { headers: { authorization: basic } })
    bytes = Number(/^edge_cache_local_bytes(?:\{.*\})? (\d+)/m.exec(await response.text())?.[1])
  }
  if (!(bytes > 0.9 * LOCAL_BYTES)) throw new Error(`the local tier has only ${bytes} of ${LOCAL_BYTES} bytes`)
}

async function readResponses(url: string, from: number): Promise<void> {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 })
  let next = from
  const lane = async () => {
    for (let at = next++; at < from + RESPONSES; at = next++) {
      const path = `/agents?limit=3&offset=${at}`
      const { statusCode, body } = await pool.request({ method: 'GET', path, headers: { authorization: basic } })
      const { byteLength } = await body.arrayBuffer()
      if (statusCode !== 200 || byteLength < 1500) throw new Error(`${path}: status ${statusCode}, ${byteLength} bytes`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  await pool.close()
}

/** Reads pages until the listing is complete, as the console does. */
async function listEntries(operations: string, query: string): Promise<void> {
  for (;;) {
    const { partial, all } = (await readJson(`${operations}/api/entries?limit=100&${query}`)) as {
      partial: boolean
      all: number
    }
    if (partial) continue
    if (all < ROWS) throw new Error(`${query}: ${all} rows instead of ${ROWS}`)
    return
  }
}

async function discardListing(operations: string): Promise<void> {
  const body = JSON.stringify({ key: 'k'.repeat(43), soft: true, preview: false })
  const headers = { authorization: basic, 'content-type': 'application/json', 'x-edge-console': '1' }
  const response = await fetch(`${operations}/api/purge`, { method: 'POST', headers, body })
  if (response.status !== 200) throw new Error(`purge: status ${response.status}`)
}

async function readIndex(url: string): Promise<void> {
  const { error } = (await readJson(url)) as { error: number }
  if (error !== 0) throw new Error(`${url}: error ${error}`)
}

async function readJson(url: string): Promise<unknown> {
  const response = await fetch(url, { headers: { authorization: basic } })
  if (response.status !== 200) throw new Error(`${url}: status ${response.status}`)
  return response.json()
}
