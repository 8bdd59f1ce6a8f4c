/** What the recorded reads contain: merged hits, versions, fetches of other replicas, and bounds. */
import t from 'tap'
import { MAX_RECORDS_PER_MINUTE, ReadRecorder } from '../../../../src/admin/console/read-recorder.ts'
import type { CacheStatus } from '../../../../src/core/cache.ts'
import type { CacheEvent, RequestEvent } from '../../../../src/core/events.ts'
import { requestEvent } from '../../../support/request-event.ts'

const START = Date.UTC(2026, 0, 1)
const TTL = 5000

function start() {
  let now = START
  const recorder = new ReadRecorder({ ttlOf: () => TTL, now: () => now })
  const pass = (ms: number) => {
    now += ms
  }
  const request = (status: CacheStatus, changes: Partial<RequestEvent> = {}) =>
    recorder.request(requestEvent({ at: now, ms: 0, cacheStatus: { key: 7, ...status }, ...changes }))
  /** `age`: of the response since its arrival. */
  const hit = (age: number, changes: Partial<RequestEvent> = {}, status: CacheStatus = {}) =>
    request({ hit: true, ttl: TTL - age, ...status }, changes)
  const miss = (status: CacheStatus = {}) => request({ fwd: 'uri-miss', ttl: TTL, ...status }, { cache: 'miss' })
  const fetched = (changes: Partial<Extract<CacheEvent, { kind: 'fetch' }>> = {}) =>
    recorder.cache({
      ...{ kind: 'fetch', group: 'agents', route: '/agents', extent: 'whole', key: 7, epochs: 'g 1' },
      ...{ bytes: 500, outcome: 'stored', ms: 20, ...changes },
    })
  return { recorder, pass, request, hit, miss, fetched }
}

t.test('hits shortly after each other are one record, with the time and the size of the fetch', async (t) => {
  const { recorder, pass, hit, miss, fetched } = start()
  fetched()
  miss()
  pass(1000)
  for (const ms of [0, 40, 50, 60]) {
    pass(ms)
    hit(1000)
  }
  const { reads, observed, share, time } = recorder.read()
  t.match(reads, [
    { at: START, key: 7, reads: 1, fetchTime: 20, bytes: 500, version: 0 },
    { at: START + 1000, reads: 3 },
    { at: START + 1150, reads: 1 },
  ])
  t.notOk('arrivedAt' in (reads[0] ?? {}), 'a miss is not served from what was stored')
  t.strictSame(observed.get('/agents'), { group: 'agents', reads: 5, hits: 4, fetches: 1, elsewhere: 0 })
  t.match({ share, time }, { share: 1, time: 1150 })
})

t.test('the first hit shows when its response had arrived', async (t) => {
  const { recorder, hit } = start()
  hit(3000)
  t.match(recorder.read().reads, [{ arrivedAt: START - 3000 }])
})

t.test('a fetch after a write has another version, one after the end of the lifetime has not', async (t) => {
  const { recorder, pass, miss, fetched } = start()
  for (const epochs of ['g 1', 'g 1', 'g 2']) {
    fetched({ epochs })
    miss()
    pass(6000)
  }
  t.strictSame(
    recorder.read().reads.map(({ version }) => version),
    [0, 0, 1],
  )
})

t.test('a hit that is younger than what this replica fetched shows a fetch of another replica', async (t) => {
  const { recorder, pass, hit, miss, fetched } = start()
  fetched()
  miss()
  pass(6000)
  hit(500)
  pass(1500)
  hit(1000)
  const { reads, observed } = recorder.read()
  t.match(
    reads.map(({ at, reads, version }) => [at - START, reads, version]),
    [
      [0, 1, 0],
      [5480, 0, 0],
      [6000, 1, 0],
      [6480, 0, 1],
      [7500, 1, 1],
    ],
    'the second one follows an invalidation, because the first response was fresh',
  )
  t.match(observed.get('/agents'), { fetches: 1, elsewhere: 2 })
})

t.test('reads that a snapshot answers are reads of the snapshot', async (t) => {
  const { recorder, pass, hit, miss, fetched } = start()
  fetched({ extent: 'snapshot', key: 99 })
  hit(0, {}, { detail: 'snapshot' })
  pass(1000)
  miss({ key: 8, detail: 'snapshot' })
  pass(1000)
  hit(1000, {}, { key: 8 })
  const { reads } = recorder.read()
  t.equal(new Set(reads.map(({ key }) => key)).size, 1)
  t.notMatch(reads[0], { key: 7 })
})

t.test('parts of nodes, failed fetches and reads of what is never stored are not recorded', async (t) => {
  const { recorder, fetched } = start()
  fetched({ extent: 'part' })
  fetched({ outcome: 'failed' })
  recorder.request(requestEvent({ at: START, cache: 'bypass' }))
  t.match(recorder.read(), { reads: [], observed: new Map() })
})

t.test('with too many reads, all reads of a part of the responses stay', async (t) => {
  const { recorder, pass, hit } = start()
  const counts = new Map<number, number>()
  for (let round = 0; round < 3; round++) {
    for (let at = 0; at < 2 * MAX_RECORDS_PER_MINUTE; at++) {
      const key = (at * 2_654_435_761) % 2 ** 30
      hit(0, {}, { key })
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    pass(60_000)
  }
  const { reads, share, observed } = recorder.read()
  t.ok(reads.length <= 3 * MAX_RECORDS_PER_MINUTE)
  t.ok(share <= 0.5 && share >= 0.1, `${share} of the responses are recorded`)
  const found = new Map<number, number>()
  for (const { key, reads: count } of reads) found.set(key, (found.get(key) ?? 0) + count)
  t.ok([...found].every(([key, count]) => count === counts.get(key)))
  t.ok(Math.abs(found.size / counts.size / share - 1) < 0.2, 'their number is that part of all')
  t.equal(observed.get('/agents')?.reads, 6 * MAX_RECORDS_PER_MINUTE, 'the counts are those of all')
  pass(9 * 60_000)
  t.strictSame(recorder.read().reads, [], 'reads are recorded for ten minutes')
})

t.test(
  'unbounded memory: of responses that are computed from one snapshot, the least recently used are forgotten',
  async (t) => {
    const { recorder, pass, hit } = start()
    const count = 10 * MAX_RECORDS_PER_MINUTE
    for (let key = 0; key <= count; key++) hit(0, {}, { key, detail: 'snapshot' })
    pass(1000)
    hit(1000, {}, { key: count })
    t.equal(recorder.read().reads.length, 2, 'the newest one is known as computed from the snapshot')
    hit(1000, {}, { key: 0 })
    const { reads, share } = recorder.read()
    t.equal(share, 1)
    t.equal(new Set(reads.map(({ key }) => key)).size, 2, 'the oldest one is recorded as a response of its own')
  },
)
