/** Advice of two replicas, limits, and how many reads would have differed. */
import t from 'tap'
import { type AdviceOptions, createAdvice } from '../../../../src/admin/console/advice.ts'
import { CallerCounts } from '../../../../src/admin/console/caller-counts.ts'
import { estimateDiffering } from '../../../../src/admin/console/divergence-estimate.ts'
import { ReadRecorder } from '../../../../src/admin/console/read-recorder.ts'
import type { CacheEvent } from '../../../../src/core/events.ts'
import { requestEvent } from '../../../support/request-event.ts'

const START = Date.UTC(2026, 0, 1)

/** A model in which the number of fetches is that of the reads, by the number of seconds of the lifetime. */
const replay: AdviceOptions['replay'] = async (reads, { ttlOf, localBytes }) => {
  const all = reads.reduce((sum, each) => sum + each.reads, 0)
  const fetches = all / (ttlOf('agents', '/agents') / 1000)
  const counts = { reads: all, hits: all - fetches, fetches, ages: 1000 * (all - fetches) }
  return { routes: new Map([['/agents', counts]]), localHits: 0, evictions: localBytes }
}

function start(model: AdviceOptions['replay'] = replay) {
  let now = START
  const callers = new CallerCounts(() => now)
  const recorder = new ReadRecorder({ ttlOf: () => 5000, now: () => now })
  const advice = createAdvice({
    requests: { drain: () => undefined },
    recorder,
    callers,
    settings: () => ({
      ttlOf: () => 5000,
      settingOf: (group) => `cache.ttl.${group}`,
      localBytes: 1024,
      requestsPerSecond: 500,
    }),
    replay: model,
    parse: ([limit = '']) => ({
      ttls: new Map(),
      requestsPerSecond: Number(limit),
      changes: [{ setting: 'access.limits.requestsPerSecond', from: '500', to: limit }],
    }),
    changeOf: (setting, ttl) => ({ setting, from: '5s', to: `${ttl / 1000}s` }),
    format: (changes) => changes.map(({ setting, to }) => `${setting}: ${to}`).join('\n'),
  })
  const request = (changes: Parameters<typeof requestEvent>[0]) => {
    for (const listener of [recorder, callers]) listener.request(requestEvent({ at: now, ...changes }))
  }
  const fetchAndRead = (count: number) => {
    for (let at = 0; at < count; at++) {
      recorder.cache({
        ...{ kind: 'fetch', group: 'agents', route: '/agents', extent: 'whole', key: at, epochs: 'g 1' },
        ...{ bytes: 100, outcome: 'stored', ms: 10 },
      })
      const cacheStatus = { fwd: 'uri-miss', ttl: 5000, key: at } as const
      request({ cache: 'miss', cacheStatus, caller: 'report' })
    }
  }
  const compare = (outcome: 'same' | 'different', count: number) => {
    for (let at = 0; at < count; at++)
      recorder.cache({ kind: 'verified', group: 'agents', route: '/agents', age: 1000, outcome })
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { advice, request, fetchAndRead, compare, pass }
}

const reportOf = ({ advice }: ReturnType<typeof start>): unknown => JSON.parse(JSON.stringify(advice.report()))

t.test('the counts are those of all replicas, and reports that are not valid are skipped', async (t) => {
  const [here, there] = [start(), start()]
  here.fetchAndRead(20)
  there.fetchAndRead(30)
  here.compare('same', 900)
  there.compare('same', 100)
  const report = reportOf(there)
  here.advice.offer([report, undefined, { routes: [{ route: 5 }], busy: [] }])
  const { replicas, lifetimes, settings } = await here.advice.read([], 0.01)
  t.equal(replicas, 2)
  t.match(lifetimes, [
    { setting: 'cache.ttl.agents', reads: 50, fetches: 50, comparisons: { compared: 1000, different: 0, age: 1000 } },
  ])
  t.equal(
    lifetimes[0]?.text,
    'agents 5 s → 60 s saves 92 % of the calls; 0 % of the reads would have differed (at most 0.3 %, by 1000 comparisons).',
  )
  t.equal(settings, 'cache.ttl.agents: 60s')
  here.advice.offer(undefined)
  t.match(await here.advice.read([], 0.01), { replicas: 1, lifetimes: [{ fetches: 20 }] })
})

t.test('without enough comparisons nothing is recommended, and their number is stated', async (t) => {
  const { advice, fetchAndRead, compare } = start()
  fetchAndRead(20)
  compare('same', 29)
  const { lifetimes, settings } = await advice.read([], 0.01)
  t.match(lifetimes[0]?.text, /^agents 5 s → 10 s saves 50 % of the calls; .* not known yet: 29 comparisons of 30\.$/)
  t.equal(settings, '')
  compare('different', 1)
  t.match(
    (await advice.read([], 0.01)).lifetimes[0]?.text,
    /differed \(at most .*\)\. Not recommended: the limit is 1 %\.$/,
  )
})

t.test('few calls give no advice', async (t) => {
  const { advice, fetchAndRead, compare } = start()
  fetchAndRead(9)
  compare('same', 1000)
  const { lifetimes, settings } = await advice.read([], 0.01)
  t.equal(lifetimes[0]?.text, 'agents: too few calls for advice, 9 of 10.')
  t.equal(settings, '')
})

t.test('another rate limit rejects what all replicas together get above it in a second', async (t) => {
  const [here, there] = [start(), start()]
  here.fetchAndRead(20)
  there.fetchAndRead(30)
  here.pass(1000)
  here.fetchAndRead(5)
  here.advice.offer([reportOf(there)])
  const { whatIf } = await here.advice.read(['40'], 0.01)
  t.match(whatIf?.limited, { now: 0, tried: 10 })
  t.same(whatIf?.texts, [
    'access.limits.requestsPerSecond 500 → 40: 10 of 55 requests that are no hits would have got 429, with the present limit 0.',
  ])
})

t.test('divergence counts compared hits by endpoint, without void comparisons', (t) => {
  const recorder = new ReadRecorder({ ttlOf: () => 5000 })
  t.strictSame(recorder.divergence(), [])
  const verified = (route: string, outcome: 'same' | 'different' | 'inconclusive'): CacheEvent => ({
    ...{ kind: 'verified', group: 'agents', route, age: 1000, outcome },
  })
  for (const event of [
    verified('/agents', 'same'),
    verified('/agents', 'different'),
    verified('/agents/summary', 'same'),
    verified('/agents/summary', 'inconclusive'),
    verified('/agents/outdated', 'inconclusive'),
  ]) {
    recorder.cache(event)
  }
  t.strictSame(recorder.divergence(), [
    { group: 'agents', route: '/agents', compared: 2, different: 1, ages: 2000 },
    { group: 'agents', route: '/agents/summary', compared: 1, different: 0, ages: 1000 },
  ])
  t.end()
})

t.test('the estimate grows with the age of the hits, and never falls below what was observed', async (t) => {
  const compared = { compared: 1000, different: 10, age: 1000 }
  t.equal(estimateDiffering(compared, { reads: 100, hits: 100, ages: 100_000 })?.share, 0.01)
  t.equal(estimateDiffering(compared, { reads: 100, hits: 100, ages: 300_000 })?.share, 0.03)
  t.equal(estimateDiffering(compared, { reads: 100, hits: 50, ages: 150_000 })?.share, 0.015, 'a miss does not differ')
  t.equal(estimateDiffering(compared, { reads: 100, hits: 100, ages: 50_000 })?.share, 0.01)
  t.equal(estimateDiffering(compared, { reads: 100, hits: 100, ages: 1e9 })?.share, 1)
  const [none, atMost] = [{ ...compared, different: 0 }, 0.0027]
  t.ok(
    Math.abs((estimateDiffering(none, { reads: 1, hits: 1, ages: 1 })?.atMost ?? 0) - atMost) < 0.0001,
    'z²/(n + z²)',
  )
})

t.test('a report is short, whatever callers and endpoints there are', async (t) => {
  const { advice, request, pass } = start()
  for (let at = 0; at < 3000; at++) {
    const cacheStatus = { fwd: 'uri-miss', ttl: 5000, key: at } as const
    const route = `/route-${at % 200}/${'x'.repeat(60)}`
    request({ at: START + at, cache: 'miss', route, cacheStatus, caller: `u${at}`.padEnd(300, 'x') })
  }
  pass(3000)
  const length = JSON.stringify(advice.report()).length
  t.ok(length < 6144, `${length} characters`)
})

t.test('concurrent advice: requests at the same time are replayed one after another', async (t) => {
  let running = 0
  let most = 0
  const { advice, fetchAndRead } = start(async (reads, settings) => {
    running += 1
    most = Math.max(most, running)
    await new Promise((resolve) => setImmediate(resolve))
    running -= 1
    return replay(reads, settings)
  })
  fetchAndRead(20)
  await Promise.all(Array.from({ length: 10 }, () => advice.read([], 0.01)))
  t.equal(most, 1)
})

t.test('a report each two seconds: the busiest seconds are found without sorting all', async (t) => {
  const counts = new CallerCounts(() => START + 300_000)
  for (let at = 0; at < 300; at++)
    for (let count = 0; count <= at % 100; count++)
      counts.request(requestEvent({ at: START + 1000 * at, cache: 'miss', caller: `user ${at}` }))
  const busiest = counts.busiestSeconds()
  t.equal(busiest.length, 30)
  t.strictSame(
    busiest.slice(0, 4).map(([caller, , count]) => [caller, count]),
    [
      ['user 99', 100],
      ['user 199', 100],
      ['user 299', 100],
      ['user 98', 99],
    ],
  )
})
