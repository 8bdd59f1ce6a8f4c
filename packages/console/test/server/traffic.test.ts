import t from 'tap'
import type { CacheOutcome } from '../../../../src/core/cache.ts'
import type { NodeCallEvent, RequestEvent } from '../../../../src/core/events.ts'
import { requestEvent } from '../../../../test/support/request-event.ts'
import { trafficOf } from '../../../../test/support/traffic.ts'
import { createRecentJoins } from '../../server/traffic.ts'

/** When the next request ends. */
const time = { at: 0, endedAt: 0 }

const ended = (cache: CacheOutcome, ms: number, overrides: Partial<RequestEvent> = {}): RequestEvent =>
  requestEvent({ ...time, ms, cache, ...overrides })

const nodeCallEvent = (overrides: Partial<NodeCallEvent> = {}): NodeCallEvent => ({
  requestId: 'id',
  node: 'master',
  method: 'GET',
  route: '/agents',
  ms: 290,
  queueTime: 0,
  ...overrides,
})

t.test('rates, totals and group counts add up the request and node call events', async (t) => {
  time.endedAt = 1_000_000
  const traffic = trafficOf(() => time.endedAt)
  t.strictSame(traffic.rates(), {
    perSecond: 0,
    cacheablePerSecond: 0,
    callsPerSecond: 0,
    savedPerSecond: 0,
    failuresPerSecond: 0,
  })
  for (let second = 0; second < 10; second++) {
    for (let at = 0; at < 3; at++) traffic.request(ended('hit', 2, { fetchTime: 300 }))
    traffic.request(ended('miss', 300))
    traffic.nodeCall(nodeCallEvent())
    time.endedAt += 1000
    traffic.sample()
  }
  const rates = traffic.rates()
  t.match(rates, { perSecond: 4, callsPerSecond: 1, failuresPerSecond: 0, hitRatio: 0.75 })
  t.equal(Math.round(rates.savedPerSecond), 3 * 300)
  t.ok(Math.abs((rates.p50 ?? 0) - 2) < 0.5, `p50 ${rates.p50}`)
  t.ok(Math.abs((rates.p99 ?? 0) - 300) < 75, `p99 ${rates.p99}`)
  t.strictSame(traffic.totals(), {
    requests: 40,
    hits: 30,
    cacheable: 40,
    calls: 10,
    saved: 30 * 300,
    failures: 0,
  })
  t.strictSame(traffic.group('agents'), { hits: 30, misses: 10 })
})

t.test('compared hits are counted by cache group, without inconclusive comparisons', async (t) => {
  const traffic = trafficOf(() => 0)
  for (const [group, outcome] of [
    ['agents', 'same'],
    ['agents', 'different'],
    ['agents', 'same'],
    ['agents', 'inconclusive'],
    ['rules', 'inconclusive'],
  ] as const)
    traffic.cache({ kind: 'verified', group, outcome })
  t.strictSame(traffic.group('agents'), { hits: 0, misses: 0, divergence: { compared: 3, different: 1 } })
  t.strictSame(traffic.group('rules'), { hits: 0, misses: 0 })
})

t.test('the calls to a node are counted for five minutes', async (t) => {
  let now = 1_000_000
  const traffic = trafficOf(() => now)
  traffic.nodeCall(nodeCallEvent({ node: 'worker', ms: 50, fault: 'timeout' }))
  traffic.nodeCall(nodeCallEvent({ node: 'worker', ms: 50, status: 503 }))
  traffic.nodeCall(nodeCallEvent({ node: 'worker', ms: 0, fault: 'drained' }))
  t.match(traffic.node('worker'), { calls: 2, failed: 1, errorResponses: 1 }, 'a call that was not sent is no call')
  now += 6 * 60_000
  t.match(traffic.node('worker'), { calls: 0, failed: 0, errorResponses: 0, p50: undefined })
})

t.test('the last 20 joined responses are listed, newest first', async (t) => {
  let now = 0
  const joins = createRecentJoins(() => now)
  for (let at = 0; at < 25; at++) {
    joins.join({
      requestId: `${at}`,
      route: `/${at}`,
      ms: 1.6,
      nodes: [{ node: 'master', rows: 1, total: 2, ms: 1.2 }],
    })
    now += 10
  }
  const last = joins.last()
  t.equal(last.length, 20)
  t.strictSame(last[0], { ago: 10, route: '/24', ms: 2, nodes: [{ node: 'master', rows: 1, total: 2, ms: 1 }] })
})
