/** Since when a problem exists, and what requests have met meanwhile. */
import { mock } from 'node:test'
import t from 'tap'
import { describeMeanwhile } from '../../../packages/console/server/api-types.ts'
import type { FoundProblem } from '../../../src/status/problem-types.ts'
import { watchProblems } from '../../../src/status/problem-watch.ts'
import { requestEvent } from '../../support/request-event.ts'
import { trafficOf } from '../../support/traffic.ts'

const START = Date.UTC(2026, 0, 1)
const iso = (at: number) => new Date(at).toISOString()
const down: FoundProblem = { kind: 'nodeUnreachable', severity: 'error', summary: 'master is down', detail: '' }
const slow: FoundProblem = { kind: 'redisSlow', severity: 'error', summary: 'Redis is slow', detail: '' }

function start(t: { teardown(end: () => unknown): unknown }) {
  const state = { now: START, found: [] as FoundProblem[] }
  const traffic = trafficOf(() => state.now)
  const { current, stop } = watchProblems({ find: () => state.found, totals: traffic.totals, now: () => state.now })
  t.teardown(stop)
  const call = (queueTime: number) =>
    traffic.nodeCall({ requestId: 'id', node: 'master', method: 'GET', route: '/agents', ms: 5, queueTime })
  const fail = () => traffic.request(requestEvent({ cache: 'miss', status: 503 }))
  const serveStale = () => traffic.request(requestEvent({ cache: 'stale' }))
  return { state, current, call, fail, serveStale }
}

t.test('a problem has its begin, and counts only what happened while it lasts', async (t) => {
  const { state, current, call, fail, serveStale } = start(t)
  fail()
  serveStale()
  call(50)
  t.strictSame(current(), [], 'no problem')
  state.now += 1000
  fail()
  state.found = [down]
  t.strictSame(
    current(),
    [{ ...down, since: iso(START + 1000), meanwhile: { stale: 0, queued: 0, failed: 1 } }],
    'with the request whose failure shows it',
  )
  state.now += 60_000
  for (let each = 0; each < 3; each++) serveStale()
  for (const queueTime of [0, 0.4, 20, 900]) call(queueTime)
  state.found = [{ ...down, summary: 'master, worker-1 are down' }, slow]
  t.match(current(), [
    { summary: 'master, worker-1 are down', since: iso(START + 1000), meanwhile: { stale: 3, queued: 2, failed: 1 } },
    { kind: 'redisSlow', since: iso(START + 61_000), meanwhile: { stale: 3, queued: 2, failed: 0 } },
  ])
  state.now += 1000
  serveStale()
  t.match(current()[1], { meanwhile: { stale: 4 } }, 'since the last time without it')
})

t.test('a problem that returns within ten seconds has not ended', async (t) => {
  const { state, current, fail } = start(t)
  state.found = [down]
  current()
  fail()
  for (const pause of [5000, 10_000]) {
    state.found = []
    state.now += 1
    t.strictSame(current(), [])
    state.now += pause - 1
    state.found = [down]
    t.match(current(), [{ since: iso(START), meanwhile: { failed: 1 } }], `after ${pause} ms`)
  }
  state.found = []
  state.now += 10_001
  current()
  state.found = [down]
  t.match(current(), [{ since: iso(state.now), meanwhile: { failed: 0 } }])
})

t.test('a problem begins while no client asks for it', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { state, current, fail } = start(t)
  state.found = [down]
  state.now += 1000
  mock.timers.tick(1000)
  state.now += 60_000
  fail()
  t.match(current(), [{ since: iso(START + 1000), meanwhile: { failed: 1 } }])
})

t.test('the counts are a phrase, without those that are 0', async (t) => {
  const none = { stale: 0, queued: 0, failed: 0 }
  t.equal(describeMeanwhile({ severity: 'error', meanwhile: none }), undefined)
  const all = { stale: 12, queued: 1, failed: 3 }
  t.equal(describeMeanwhile({ severity: 'error', meanwhile: all }), '12 served stale, 1 call queued, 3 failed')
  t.equal(describeMeanwhile({ severity: 'warning', meanwhile: { ...none, queued: 2 } }), '2 calls queued')
  t.equal(describeMeanwhile({ severity: 'notice', meanwhile: all }), undefined, 'an operator has chosen this state')
})
