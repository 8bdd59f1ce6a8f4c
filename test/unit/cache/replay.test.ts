/** The model that replays reads: laws for all sequences, and an oracle that shares no code with it. */
import fc from 'fast-check'
import t from 'tap'
import { policyByName } from '../../../src/cache/purge.ts'
import { createReplay } from '../../../src/cache/replay.ts'
import type { RecordedRead } from '../../../src/core/cache.ts'

const UNLIMITED = Number.MAX_SAFE_INTEGER
const START = Date.UTC(2026, 0, 1)

/** Without stale responses, which the tests of them set. */
function modelWith({ stale = 0, hasRedis = false } = {}) {
  return createReplay({
    policyOf: (route) => policyByName.get(route),
    staleOf: () => ({ staleWhileRevalidate: stale, staleIfError: 0 }),
    hasRedis,
  })
}

function read(at: number, changes: Partial<RecordedRead> = {}): RecordedRead {
  const { key = 1 } = changes
  const names = { key, group: 'agents', route: '/agents' }
  return { at: START + at, ...names, reads: 1, version: 0, isForced: false, fetchTime: 0, bytes: 100, ...changes }
}

async function replay(
  reads: readonly RecordedRead[],
  { ttl, localBytes = UNLIMITED, ...model }: { ttl: number; localBytes?: number; stale?: number; hasRedis?: boolean },
) {
  const { routes, ...others } = await modelWith(model)(reads, { ttlOf: () => ttl, localBytes })
  return { reads: 0, hits: 0, fetches: 0, ages: 0, ...routes.get('/agents'), ...others }
}

/** Fetches of a cache of unlimited size that knows nothing but times: the definition of a freshness lifetime. */
function expectedFetches(reads: readonly RecordedRead[], ttl: number): number {
  const freshUntil: Record<string, number> = {}
  let fetches = 0
  for (const { at, key } of reads) {
    if (at < (freshUntil[key] ?? 0)) continue
    fetches += 1
    freshUntil[key] = at + ttl
  }
  return fetches
}

/** Reads at distances at which no response is requested often enough for a refresh ahead. */
const sparseReads = (minGap: number) =>
  fc
    .array(fc.record({ gap: fc.integer({ min: minGap, max: 20_000 }), key: fc.integer({ min: 1, max: 5 }) }), {
      maxLength: 80,
    })
    .map((gaps) => {
      let at = 0
      return gaps.map(({ gap, key }) => {
        at += gap
        return read(at, { key })
      })
    })

t.test('without refreshes ahead, the fetches are those of the definition', async (t) => {
  await fc.assert(
    fc.asyncProperty(sparseReads(4000), fc.integer({ min: 1, max: 12_000 }), async (reads, ttl) => {
      const { fetches, hits, reads: all } = await replay(reads, { ttl })
      return fetches === expectedFetches(reads, ttl) && hits === all - fetches
    }),
  )
  t.pass()
})

t.test('a longer lifetime never causes more fetches, and a lifetime of zero one for each read', async (t) => {
  const lifetimes = fc.tuple(fc.integer({ min: 1, max: 6000 }), fc.integer({ min: 0, max: 6000 }))
  await fc.assert(
    fc.asyncProperty(sparseReads(4000), lifetimes, async (reads, [ttl, more]) => {
      const [shorter, longer] = [expectedFetches(reads, ttl), expectedFetches(reads, ttl + more)]
      const replayed = await replay(reads, { ttl: ttl + more })
      return longer <= shorter && replayed.fetches <= (await replay(reads, { ttl })).fetches
    }),
  )
  await fc.assert(
    fc.asyncProperty(sparseReads(0), async (reads) => (await replay(reads, { ttl: 0 })).fetches === reads.length),
  )
  t.pass()
})

t.test('a response of an older version is never served', async (t) => {
  const reads = [read(0), read(1000), read(2000, { version: 1 }), read(3000, { version: 1 })]
  t.match(await replay(reads, { ttl: 60_000 }), { fetches: 2, hits: 2 })
  t.end()
})

t.test('what was stored when the recording began is served until its lifetime ends', async (t) => {
  const reads = [read(0, { arrivedAt: START - 4000 }), read(5000), read(12_000)]
  t.match(await replay(reads, { ttl: 10_000 }), { fetches: 1, hits: 2, ages: 4000 + 9000 })
  t.match(await replay(reads, { ttl: 5000 }), { fetches: 2, hits: 1 }, 'the fetch at 5 s is expired at 12 s')
})

t.test('reads during a fetch share it, and a forced read fetches', async (t) => {
  const reads = [0, 100, 200, 900].map((at) => read(at, { fetchTime: 500 }))
  t.match(await replay(reads, { ttl: 5000 }), { reads: 4, fetches: 1, hits: 1 })
  t.match(await replay([read(0), read(1000, { isForced: true })], { ttl: 5000 }), { fetches: 2, hits: 0 })
})

t.test('an expired response is served during its refresh, if it may be', async (t) => {
  const reads = [0, 5500, 5600, 5900].map((at) => read(at, { fetchTime: 300 }))
  t.match(await replay(reads, { ttl: 5000, stale: 2000 }), { fetches: 2, hits: 3 })
  t.match(await replay(reads, { ttl: 5000 }), { fetches: 2, hits: 1 }, 'two wait for the same fetch')
})

t.test('a response with many hits is refreshed ahead, once in a lifetime', async (t) => {
  const reads = Array.from({ length: 100 }, (_, at) => read(at * 100, { fetchTime: 10 }))
  const { fetches, hits } = await replay(reads, { ttl: 5000 })
  t.equal(hits, 99, 'no client waits after the first one')
  t.equal(fetches, 3)
})

t.test('a small local tier evicts what was used least recently', async (t) => {
  const reads = [1, 2, 1, 3, 1, 2].map((key, at) => read(at * 100, { key, bytes: 10_000 }))
  const localBytes = 22_000
  t.match(await replay(reads, { ttl: 60_000, localBytes }), { fetches: 4, hits: 2, evictions: 2 })
  const shared = await replay(reads, { ttl: 60_000, localBytes, hasRedis: true })
  t.match(shared, { fetches: 3, hits: 3, evictions: 2, localHits: 2 }, 'Redis still has what was evicted')
  t.match(await replay(reads, { ttl: 60_000 }), { fetches: 3, evictions: 0, localHits: 3 })
})
