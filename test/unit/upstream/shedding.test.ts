/** A node that is asked for more than it bears: who is served, and who is sent away. */
import t from 'tap'
import { type Arrival, run, share, spread } from './limiter-simulation.ts'

const TAKES = 300
/** Calls that four places serve in a minute. */
const CAPACITY = (60_000 / TAKES) * 4
const MINUTE = 60_000

t.test('three times the capacity, all classes: bulk goes first, then reads of people', async (t) => {
  const of = (load: Arrival['priority'], part: number, at: Partial<Arrival> = {}) =>
    spread(CAPACITY * 3 * part, 3 * MINUTE, { priority: load, takes: TAKES, caller: load, ...at })
  const report = await run([
    ...of('health', 0.02),
    ...of('write', 0.18),
    ...of('interactive', 1.1),
    ...of('bulk', 1.7, { takes: TAKES * 5 }),
  ])
  const shares = (['health', 'write', 'interactive', 'bulk'] as const).map((load) => share(report, load))
  t.comment(shares.map((part) => `${Math.round(part * 100)} %`).join(', '))
  const [health = 0, write = 0, interactive = 0, bulk = 1] = shares
  t.equal(health, 1)
  t.ok(write >= 0.99, `${write}`)
  t.ok(interactive >= 0.7, `${interactive}`)
  t.ok(bulk < interactive / 2, `${bulk}`)
  t.equal(report.most, 4)
})

t.test(
  'ten thousand at once: the limit holds, the node is never idle, the others hear when to come again',
  async (t) => {
    const burst = spread(10_000, 100, { priority: 'interactive', takes: TAKES }).map((one, i) => ({
      ...one,
      caller: `${i}`,
    }))
    const { seen, most, over } = await run(burst)
    const served = seen.filter(({ entry }) => entry.ok)
    t.equal(most, 4)
    t.ok(served.length >= 256, `${served.length}`)
    const busy = served.length * TAKES
    const until = Math.max(...served.map(({ arrival, waited }) => arrival.at + waited + TAKES))
    t.ok(busy / 4 / until >= 0.9, `${busy / 4 / until} of the capacity`)
    t.ok(over <= 20_100, 'nobody waits beyond its deadline')
    const away = seen.flatMap(({ entry, waited }) => (entry.ok ? [] : [{ entry, waited }]))
    t.equal(away.length + served.length, 10_000)
    const told = away.filter(({ entry }) => Number.isInteger(entry.retryAfter) && entry.retryAfter >= 1)
    t.equal(told.length, away.length)
    const atOnce = away.filter(({ waited }) => waited < 100)
    t.ok(atOnce.length >= away.length * 0.99, `${atOnce.length} of ${away.length} at once`)
  },
)

t.test('a full line: a write takes the place of the bulk call that came last', async (t) => {
  const { seen } = await run(
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
    seen.map(({ entry }) => entry.ok),
    [true, true, false, true, false],
  )
  t.match(seen[2], { waited: 1, entry: { fault: 'overloaded', detail: /gave its place/, retryAfter: 1 } })
  t.match(seen[4], { waited: 0, entry: { fault: 'overloaded', detail: 'queue full' } })
})

t.test('the line is served by class, whoever came first', async (t) => {
  const loads = ['bulk', 'interactive', 'write', 'health'] as const
  const { seen } = await run(
    [
      { at: 0, priority: 'interactive', takes: 100 },
      ...loads.map((load, i) => ({ at: i + 1, priority: load, takes: 100 })),
    ],
    { inFlight: 1 },
  )
  t.same(
    seen.map(({ arrival, waited }) => arrival.at + waited),
    [0, 400, 300, 200, 100],
  )
})

t.test('bulk never holds the last place, and half of them at most', async (t) => {
  const bulk = spread(20, 10, { priority: 'bulk', takes: 5_000 })
  const { seen } = await run([
    ...bulk,
    { at: 20, priority: 'write', takes: 10 },
    { at: 21, priority: 'interactive', takes: 10 },
  ])
  t.match(seen.slice(-2), [{ waited: 0 }, { waited: 0 }])
  const begun = seen.filter(({ arrival, waited }) => arrival.priority === 'bulk' && arrival.at + waited < 5_000)
  t.equal(begun.length, 2)
  const alone = await run(bulk.slice(0, 3), { inFlight: 1 })
  t.ok(
    alone.seen.every(({ entry }) => entry.ok),
    'of one place it has that one, in turn',
  )
})

t.test('who waits in vain behind higher classes hears of it at its deadline, and when to come again', async (t) => {
  const writes = spread(200, 19_000, { priority: 'write', takes: 100 })
  const { seen } = await run([...writes, { at: 50, priority: 'bulk', takes: 100, timeout: 2_000 }], { inFlight: 1 })
  t.match(seen.at(-1), { waited: 2_000, entry: { ok: false, fault: 'overloaded', detail: /before the deadline/ } })
})
