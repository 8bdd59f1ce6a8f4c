import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../src/cache/stores/memory-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { fill, type Store, TAGS } from './contract.ts'
import { replica } from './replicas.ts'

const HOUR = 3_600_000
const FRESH = 1500
/** The replica reads the clock of Redis in a round trip, which is long on a busy machine, and the system may adjust that clock. */
const CLOCK_TOLERANCE_MS = 250

const redis = await startRedis()
t.teardown(() => redis.close())

/** Steps the wall clock of this process until the test ends. Its monotonic clock is not affected. */
function stepClock(t: Test, by: number): void {
  const { now } = Date
  Date.now = () => now() + by
  t.teardown(() => {
    Date.now = now
  })
}

async function ageOf(store: Store): Promise<number | undefined> {
  const lookup = await store.lookup('k', TAGS)
  return lookup.kind === 'hit' ? lookup.age : undefined
}

/** Stores an entry, steps the clock, and checks that both stores use the time that has really passed. */
async function holds(t: Test, by: number, one: Store, other: Store): Promise<void> {
  const begin = performance.now()
  await fill(one, 'stored', { more: { ttl: FRESH, staleWhileRevalidate: 0, staleIfError: 0 } })
  const before = await ageOf(other)
  stepClock(t, by)
  for (const store of [one, other]) {
    const age = await ageOf(store)
    const passed = performance.now() - begin
    t.ok(age !== undefined && age >= 0 && age <= passed + CLOCK_TOLERANCE_MS, `${age} of ${passed}`)
    t.ok(age !== undefined && age >= (before ?? 0) - 50, 'it did not become younger')
  }
  const [row] = await other.list('agents')
  t.ok(row !== undefined && row.timeLeft > 0 && row.timeLeft <= FRESH, `${row?.timeLeft}`)
  for (const store of [one, other]) await eventually(async () => (await ageOf(store)) === undefined)
  const lived = performance.now() - begin
  // A lifetime that followed the wall clock would differ by an hour.
  t.ok(lived >= FRESH - 100 && lived < HOUR / 10, `${lived}`)
}

for (const by of [HOUR, -HOUR]) {
  t.test(`stepping the wall clock by ${by} ms changes no lifetime in Redis and the local tier`, async (t) => {
    const [one, other] = [await replica(t, redis), await replica(t, redis, { localBytes: () => 0 })]
    await one.store.purge({})
    await holds(t, by, one.store, other.store)
  })

  t.test(`stepping the wall clock by ${by} ms changes no lifetime in the memory store`, async (t) => {
    const store = createMemoryStore({ bytes: () => 1 << 20 })
    await holds(t, by, store, store)
  })
}
