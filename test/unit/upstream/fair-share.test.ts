/** One caller cannot have a node for itself while others wait for it. */
import t from 'tap'
import { run, spread } from './limiter-simulation.ts'

const crowd = (count: number, takes = 100) => spread(count, 1, { priority: 'interactive', takes, caller: 'crowd' })
const other = (at: number, takes = 100) => ({ at, priority: 'interactive', takes, caller: 'other' }) as const

t.test('a caller with one call goes before the second one of a caller with many', async (t) => {
  const { seen } = await run([...crowd(40), other(10)], { inFlight: 1 })
  t.match(seen.at(-1), { waited: 190, entry: { ok: true } })
})

t.test('callers with many take turns', async (t) => {
  const { seen } = await run([...crowd(20), ...spread(10, 1, other(0)).map((one) => ({ ...one, at: one.at + 2 }))], {
    inFlight: 1,
  })
  const order = [...seen].sort((a, b) => a.arrival.at + a.waited - (b.arrival.at + b.waited))
  t.same(order.slice(0, 21).filter(({ arrival }) => arrival.caller === 'other').length, 10)
})

t.test('long calls of one caller leave places to the others who wait', async (t) => {
  const long = crowd(40, 1_000)
  const others = spread(40, 1, { priority: 'interactive', takes: 1_000, caller: 'other' })
  const { seen } = await run([...long, ...others.map((one) => ({ ...one, at: one.at + 2 }))])
  const within = (caller: string) =>
    seen.filter(({ arrival, waited }) => {
      const began = arrival.at + waited
      return arrival.caller === caller && began > 1_500 && began < 2_500
    }).length
  t.same([within('crowd'), within('other')], [2, 2])
})

t.test('alone, a caller has all places', async (t) => {
  const { seen } = await run(crowd(4))
  t.same(
    seen.map(({ waited }) => waited),
    [0, 0, 0, 0],
  )
})

t.test('a full line: the caller who has most of it makes room', async (t) => {
  const { seen } = await run([...crowd(11), other(10), other(11)], { inFlight: 1, queue: 10 })
  t.same(
    seen.map(({ entry }) => entry.ok),
    [...Array.from({ length: 9 }, () => true), false, false, true, true],
  )
  t.match(seen[10], { entry: { fault: 'overloaded', retryAfter: 1 } })
})

t.test('of equals nobody makes room', async (t) => {
  const { seen } = await run(
    [crowd(1), [other(1)], crowd(1)].flat().map((one, at) => ({ ...one, at })),
    {
      inFlight: 1,
      queue: 1,
    },
  )
  t.match(seen.at(-1), { entry: { ok: false, detail: 'queue full' } })
})
