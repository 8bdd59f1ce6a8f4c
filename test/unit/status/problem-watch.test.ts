/** Since when a problem exists. */
import { mock } from 'node:test'
import t from 'tap'
import type { FoundProblem } from '../../../src/status/problem-types.ts'
import { watchProblems } from '../../../src/status/problem-watch.ts'

const START = Date.UTC(2026, 0, 1)
const iso = (at: number) => new Date(at).toISOString()
const down: FoundProblem = { kind: 'nodeUnreachable', severity: 'error', summary: 'master is down', detail: '' }
const slow: FoundProblem = { kind: 'redisSlow', severity: 'error', summary: 'Redis is slow', detail: '' }

function start(t: { teardown(end: () => unknown): unknown }) {
  const state = { now: START, found: [] as FoundProblem[] }
  const { current, stop } = watchProblems(
    () => state.found,
    () => state.now,
  )
  t.teardown(stop)
  return { state, current }
}

t.test('a problem has its begin', async (t) => {
  const { state, current } = start(t)
  t.strictSame(current(), [], 'no problem')
  state.now += 1000
  state.found = [down]
  t.strictSame(current(), [{ ...down, since: iso(START + 1000) }])
  state.now += 60_000
  state.found = [{ ...down, summary: 'master, worker-1 are down' }, slow]
  t.match(current(), [
    { summary: 'master, worker-1 are down', since: iso(START + 1000) },
    { kind: 'redisSlow', since: iso(START + 61_000) },
  ])
})

t.test('a problem that returns within ten seconds has not ended', async (t) => {
  const { state, current } = start(t)
  state.found = [down]
  current()
  for (const pause of [5000, 10_000]) {
    state.found = []
    state.now += 1
    t.strictSame(current(), [])
    state.now += pause - 1
    state.found = [down]
    t.match(current(), [{ since: iso(START) }], `after ${pause} ms`)
  }
  state.found = []
  state.now += 10_001
  current()
  state.found = [down]
  t.match(current(), [{ since: iso(state.now) }])
})

t.test('a problem begins while no client asks for it', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const { state, current } = start(t)
  state.found = [down]
  state.now += 1000
  mock.timers.tick(1000)
  state.now += 60_000
  t.match(current(), [{ since: iso(START + 1000) }])
})
