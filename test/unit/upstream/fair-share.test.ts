/** Fair share: one caller cannot occupy a node while calls of other callers are queued. */
import t from 'tap'
import { run, spread } from './limiter-simulation.ts'

const crowd = (count: number, takes = 100) => spread(count, 1, { priority: 'interactive', takes, caller: 'crowd' })
const other = (at: number, takes = 100) => ({ at, priority: 'interactive', takes, caller: 'other' }) as const

t.test('the only call of a caller goes before the second call of another', async (t) => {
  const { results } = await run([...crowd(40), other(10)], { inFlight: 1 })
  t.match(results.at(-1), { waited: 90, acquisition: { ok: true } })
})

t.test('callers with many calls take turns', async (t) => {
  const { results } = await run(
    [...crowd(20), ...spread(10, 1, other(0)).map((each) => ({ ...each, at: each.at + 2 }))],
    {
      inFlight: 1,
    },
  )
  const order = [...results].sort((a, b) => a.arrival.at + a.waited - (b.arrival.at + b.waited))
  t.same(order.slice(0, 21).filter(({ arrival }) => arrival.caller === 'other').length, 10)
})

t.test('long calls of one caller leave slots for the queued calls of others', async (t) => {
  const long = crowd(40, 1_000)
  const others = spread(40, 1, { priority: 'interactive', takes: 1_000, caller: 'other' })
  const { results } = await run([...long, ...others.map((each) => ({ ...each, at: each.at + 2 }))])
  const within = (caller: string) =>
    results.filter(({ arrival, waited }) => {
      const start = arrival.at + waited
      return arrival.caller === caller && start > 1_500 && start < 2_500
    }).length
  t.same([within('crowd'), within('other')], [2, 2])
})

t.test('without other callers, a caller has all slots', async (t) => {
  const { results } = await run(crowd(4))
  t.same(
    results.map(({ waited }) => waited),
    [0, 0, 0, 0],
  )
})

t.test('in a full queue, the caller with most calls is displaced', async (t) => {
  const { results } = await run([...crowd(11), other(10), other(11)], { inFlight: 1, queue: 10 })
  t.same(
    results.map(({ acquisition }) => acquisition.ok),
    [...Array.from({ length: 9 }, () => true), false, false, true, true],
  )
  t.match(results[10], { acquisition: { fault: 'overloaded', retryAfter: 1 } })
})

t.test('in a full queue, callers with equally many calls are not displaced', async (t) => {
  const { results } = await run(
    [crowd(1), [other(1)], crowd(1)].flat().map((each, at) => ({ ...each, at })),
    {
      inFlight: 1,
      queue: 1,
    },
  )
  t.match(results.at(-1), { acquisition: { ok: false, reason: 'queueFull' } })
})
