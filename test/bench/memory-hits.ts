/**
 * Measures the memory of prepared hits: the additional memory of a process when the hits of 10,000 URLs are prepared, after
 * their responses were stored. `measureHits` runs the measurement in a separate process, which is this file.
 */
import { fork } from 'node:child_process'
import { createMemoryStore } from '../../src/cache/stores/memory-store.ts'
import { MAX_IN_USE } from '../../src/core/recently-used.ts'
import { replica } from '../support/edge-requests.ts'
import { startServer, uncachedResponse } from '../unit/http/test-server.ts'
import { memory } from './memory-tier.ts'

export interface HitMemory {
  readonly hits: number
  /** Additional bytes in use. */
  readonly used: number
  /** Requests for the URLs that ran through the pipeline although their hits were prepared. */
  readonly notPrepared: number
}

/** Runs in a separate process, so that one measurement does not affect the baseline of the next. */
export function measureHits(): Promise<HitMemory> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL(import.meta.url), ['hits'])
    child.once('message', (memory) => resolve(memory as HitMemory))
    child.once('exit', (code) => reject(new Error(`prepared hits: ended with ${code}`)))
  })
}

async function measure(): Promise<HitMemory> {
  const ends: (() => unknown)[] = []
  const { read, nodes } = replica({
    store: createMemoryStore({ bytes: () => 1 << 30 }),
    lifetimesOf: () => ({ ttl: 3_600_000, staleWhileRevalidate: 0, staleIfError: 0 }),
  })
  nodes.respond = () => uncachedResponse(Buffer.from('{"error":0,"data":{"items":[],"totalItems":0}}'))
  const server = await startServer({ teardown: (end) => ends.push(end) }, (request) => {
    if (request.kind !== 'read') throw new Error('only reads are sent')
    return read(request)
  })
  const sendAll = async (cacheStatus: RegExp): Promise<void> => {
    for (let at = 0; at < MAX_IN_USE; at++) {
      const { status, headers } = await server.send(`/agents?offset=${at}&limit=5`)
      const shown = String(headers['cache-status'])
      if (status !== 200 || !cacheStatus.test(shown)) throw new Error(`${status}, ${shown}`)
    }
    // What only this measurement keeps.
    for (const list of [server.logLines, nodes.requests]) list.length = 0
  }
  await sendAll(/uri-miss/)
  server.requests.length = 0
  const before = memory()
  await sendAll(/; hit/)
  server.requests.length = 0
  const after = memory()
  await sendAll(/; hit/)
  const notPrepared = server.requests.length
  for (const end of ends.reverse()) await end()
  return { hits: MAX_IN_USE, used: after.used - before.used, notPrepared }
}

if (process.send !== undefined && process.argv[1] === import.meta.filename && process.argv[2] === 'hits') {
  process.send(await measure(), () => process.exit(0))
}
