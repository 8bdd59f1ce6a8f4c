import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../src/cache/stores/memory-store.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { fillAndList, type Store, TAGS } from './contract.ts'
import { replica } from './replicas.ts'

const HOUR = 3_600_000
const FRESH = 1500
/** Redis and the store round to milliseconds, at different times, and the system may adjust the clock of Redis. */
const CLOCK_TOLERANCE_MS = 25

const redis = await startRedis()
t.teardown(() => redis.close())

/** Steps the wall clock of this process until the returned function is called. Its monotonic clock is not affected. */
function stepClock(by: number): () => void {
  const { now } = Date
  Date.now = () => now() + by
  return () => {
    Date.now = now
  }
}

async function ageOf(store: Store): Promise<number | undefined> {
  const lookup = await store.lookup('k', TAGS)
  return lookup.kind === 'hit' ? lookup.age : undefined
}

interface Measured {
  readonly begin: number
  readonly restoreClock: () => void
  /** Before the step. */
  readonly before: number | undefined
  readonly ages: readonly { readonly age: number | undefined; readonly passed: number }[]
}

/** Stores an entry, steps the clock, and reads the age of the entry in both stores. */
async function measure(by: number, one: Store, other: Store): Promise<Measured> {
  const begin = performance.now()
  await fillAndList(one, 'stored', { more: { ttl: FRESH, staleWhileRevalidate: 0, staleIfError: 0 } })
  const before = await ageOf(other)
  const restoreClock = stepClock(by)
  const ages: Measured['ages'][number][] = []
  for (const store of [one, other]) ages.push({ age: await ageOf(store), passed: performance.now() - begin })
  return { begin, restoreClock, before, ages }
}

const isTrue = ({ age = Number.NaN, passed }: Measured['ages'][number]) =>
  age >= 0 && age <= passed + CLOCK_TOLERANCE_MS

/** On busy cores, Redis runs a command some time after it has read its clock. A store that uses the wall clock errs each time. */
const MAX_RUNS = 10

/** Checks that both stores use the time that has really passed. */
async function holds(t: Test, by: number, one: Store, other: Store): Promise<void> {
  let measured = await measure(by, one, other)
  for (let run = 1; run < MAX_RUNS && !measured.ages.every(isTrue); run += 1) {
    measured.restoreClock()
    measured = await measure(by, one, other)
  }
  const { begin, restoreClock, before, ages } = measured
  t.teardown(restoreClock)
  for (const { age, passed } of ages) {
    t.ok(isTrue({ age, passed }), `${age} of ${passed}`)
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
