/** Load shedding: which calls are served and which are rejected if a node receives more than it can answer. */
import t from 'tap'
import { type Arrival, run, servedShare, spread } from './limiter-simulation.ts'

const TAKES = 300
/** Calls that four slots serve in a minute. */
const CAPACITY = (60_000 / TAKES) * 4
const MINUTE = 60_000

t.test('at three times the capacity, bulk calls are shed first, then interactive reads', async (t) => {
  const of = (priority: Arrival['priority'], part: number, overrides: Partial<Arrival> = {}) =>
    spread(CAPACITY * 3 * part, 3 * MINUTE, { priority, takes: TAKES, caller: priority, ...overrides })
  const report = await run([
    ...of('health', 0.02),
    ...of('write', 0.18),
    ...of('interactive', 1.1),
    ...of('bulk', 1.7, { takes: TAKES * 5 }),
  ])
  const shares = (['health', 'write', 'interactive', 'bulk'] as const).map((priority) => servedShare(report, priority))
  t.comment(shares.map((part) => `${Math.round(part * 100)} %`).join(', '))
  const [health = 0, write = 0, interactive = 0, bulk = 1] = shares
  t.equal(health, 1)
  t.ok(write >= 0.99, `${write}`)
  t.ok(interactive >= 0.7, `${interactive}`)
  t.ok(bulk < interactive / 2, `${bulk}`)
  t.equal(report.maxInFlight, 4)
})

t.test('of 10,000 calls at once, the limit holds, the node is busy, and rejections have Retry-After', async (t) => {
  const burst = spread(10_000, 100, { priority: 'interactive', takes: TAKES }).map((each, i) => ({
    ...each,
    caller: `${i}`,
  }))
  const { results, maxInFlight, end } = await run(burst)
  const served = results.filter(({ acquisition }) => acquisition.ok)
  t.equal(maxInFlight, 4)
  t.ok(served.length >= 256, `${served.length}`)
  const busy = served.length * TAKES
  const until = Math.max(...served.map(({ arrival, waited }) => arrival.at + waited + TAKES))
  t.ok(busy / 4 / until >= 0.9, `${busy / 4 / until} of the capacity`)
  t.ok(end <= 20_100, 'no call waits beyond its deadline')
  const rejected = results.flatMap(({ acquisition, waited }) => (acquisition.ok ? [] : [{ acquisition, waited }]))
  t.equal(rejected.length + served.length, 10_000)
  const withRetryAfter = rejected.filter(
    ({ acquisition }) => Number.isInteger(acquisition.retryAfter) && acquisition.retryAfter >= 1,
  )
  t.equal(withRetryAfter.length, rejected.length)
  const immediate = rejected.filter(({ waited }) => waited < 100)
  t.ok(immediate.length >= rejected.length * 0.99, `${immediate.length} of ${rejected.length} immediately`)
})

t.test('in a full queue, a write displaces the last bulk call', async (t) => {
  const { results } = await run(
    [
      { at: 0, priority: 'interactive', takes: 1_000 },
      { at: 1, priority: 'bulk', takes: 10, endpoint: 'first' },
      { at: 2, priority: 'bulk', takes: 10, endpoint: 'last' },
      { at: 3, priority: 'write', takes: 10 },
      { at: 4, priority: 'bulk', takes: 10, endpoint: 'late' },
    ],
    { inFlight: 1, queue: 2 },
  )
  t.same(
    results.map(({ acquisition }) => acquisition.ok),
    [true, true, false, true, false],
  )
  t.match(results[2], {
    waited: 1,
    acquisition: { fault: 'overloaded', reason: 'displaced', retryAfter: 1 },
  })
  t.match(results[4], { waited: 0, acquisition: { fault: 'overloaded', reason: 'queueFull' } })
})

t.test('the queue is served by priority, not by arrival', async (t) => {
  const priorities = ['bulk', 'interactive', 'write', 'health'] as const
  const { results } = await run(
    [
      { at: 0, priority: 'interactive', takes: 100 },
      ...priorities.map((priority, i) => ({ at: i + 1, priority, takes: 100 })),
    ],
    { inFlight: 1 },
  )
  t.same(
    results.map(({ arrival, waited }) => arrival.at + waited),
    [0, 400, 300, 200, 100],
  )
})

t.test('bulk calls use at most half of the slots while others wait, and all of them otherwise', async (t) => {
  const bulk = (takes: number) => spread(20, 10, { priority: 'bulk', takes })
  const reads = spread(20, 100, { priority: 'interactive', takes: 2_000 })
  const { results } = await run([...reads, ...bulk(2_000).map((each) => ({ ...each, at: each.at + 100 }))])
  const inFlight = (priority: Arrival['priority'], at: number) =>
    results.filter(({ arrival, waited }) => {
      const start = arrival.at + waited
      return arrival.priority === priority && start <= at && at < start + arrival.takes
    }).length
  for (let at = 500; at < 9_000; at += 500) t.ok(inFlight('bulk', at) <= 2, `${at}`)
  const alone = await run(bulk(1_000).slice(0, 4))
  t.same(
    alone.results.map(({ waited }) => waited),
    [0, 0, 0, 0],
  )
})

t.test('between the calls of people, bulk calls leave them half of the slots', async (t) => {
  const people = Array.from({ length: 20 }, (_, at) => {
    return { at: 3_000 + 500 * at, priority: 'interactive', takes: 100 } as const
  })
  const { results } = await run([...people, ...spread(60, 10, { priority: 'bulk', takes: 1_000 })])
  const waits = results.flatMap(({ arrival, waited }) => (arrival.priority === 'interactive' ? [waited] : []))
  // The first one finds all slots taken.
  t.same(
    waits.slice(2),
    waits.slice(2).map(() => 0),
  )
})

t.test('between short calls of people, bulk calls use what these leave', async (t) => {
  const [takes, span, slots] = [40, 10_000, 4]
  const people = spread(span / 500, span, { priority: 'interactive', takes })
  const { results } = await run([...people, ...spread(2_000, span, { priority: 'bulk', takes })])
  const ends = results.flatMap(({ arrival, acquisition, waited }) =>
    acquisition.ok ? [arrival.at + waited + arrival.takes] : [],
  )
  const used = (takes * ends.filter((end) => end <= span).length) / (slots * span)
  t.ok(used >= 0.9, `${used} of the node time`)
})

t.test('a bulk call is queued for half of its timeout at most; Retry-After is when it gets a slot', async (t) => {
  const call = { at: 0, priority: 'bulk', takes: 2_000, timeout: 8_000 } as const
  const crowd = Array.from({ length: 12 }, () => ({ ...call, at: 3_000 }))
  const { results } = await run([call, ...crowd], { inFlight: 1 })
  const rejected = results.flatMap(({ acquisition, waited }) => (acquisition.ok || waited > 0 ? [] : [acquisition]))
  t.same(
    rejected.map(({ retryAfter }) => retryAfter).toSorted((a, b) => a - b),
    [6, 8, 10, 12, 14, 16, 18, 20, 22],
  )
  t.ok(results.every(({ waited }) => waited <= 4_000))
})

t.test('a call that waits behind higher priorities is rejected at its deadline', async (t) => {
  const writes = spread(200, 19_000, { priority: 'write', takes: 100 })
  const { results } = await run([...writes, { at: 50, priority: 'bulk', takes: 100, timeout: 2_000 }], { inFlight: 1 })
  t.match(results.at(-1), {
    acquisition: { ok: false, fault: 'overloaded', reason: 'tooMuchBulk' },
  })
})
