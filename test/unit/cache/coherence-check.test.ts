/** The check of coherence finds replicas whose stores are not coherent. */
import t from 'tap'
import { type CoherenceCheck, type CoherenceOutcome, createCoherenceCheck } from '../../../src/cache/coherence-check.ts'
import type { CacheStore } from '../../../src/cache/stores/contract.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import type { ReplicaCalls } from '../../../src/redis/replica.ts'

/** Starts one replica for each store, and a check by the first. `silent` ones have a name and answer nothing else. */
async function check(
  stores: readonly Stores[],
  {
    silent = [],
    others = stores.slice(1).map((_, at) => `replica-${at + 2}`),
    maxDuration = 20_000,
  }: { silent?: string[]; others?: string[]; maxDuration?: number } = {},
): Promise<CoherenceOutcome> {
  const [first] = startReplicas(stores, (at) => `replica-${at + 1}`, { silent, maxDuration })
  if (first === undefined) throw new Error('no store is given')
  return first.run(others)
}

type Stores = Pick<CacheStore, 'lookup' | 'store' | 'fence'>

function startReplicas(
  stores: readonly Stores[],
  nameOf: (at: number) => string,
  { silent = [], maxDuration = 20_000 }: { silent?: string[]; maxDuration?: number } = {},
): readonly CoherenceCheck[] {
  const answers: ((request: unknown) => Promise<unknown>)[] = []
  const callsOf = (self: number): ReplicaCalls => ({
    id: String(self),
    answerWith: (answer) => {
      answers[self] = answer
    },
    call: async (request, _expected, _ms, to) => {
      const asked = answers
        .map((answer, at) => ({ answer, from: String(at) }))
        .filter(({ from }) => to === undefined || from === to)
      const isSilent = to !== undefined && silent.includes(`replica-${Number(to) + 1}`)
      return isSilent
        ? []
        : Promise.all(asked.map(async ({ answer, from }) => ({ from, reply: await answer(request) })))
    },
  })
  return stores.map((store, at) => createCoherenceCheck({ calls: callsOf(at), store, name: nameOf(at), maxDuration }))
}

const memoryStore = () => createMemoryStore({ bytes: () => 1_000_000 })

t.test('replicas with one store show each invalidation', async (t) => {
  const store = memoryStore()
  const { rounds, replicas, missing, failure } = await check([store, store], { others: ['replica-2', 'replica-3'] })
  t.strictSame([rounds, failure, missing], [10, undefined, ['replica-3']])
  t.match(replicas, [
    { replica: 'replica-1', stale: 0 },
    { replica: 'replica-2', stale: 0 },
  ])
})

t.test('replicas with the same name check at the same time, each with an entry of its own', async (t) => {
  const store = memoryStore()
  const checks = startReplicas([store, store], () => 'edge')
  for (const { rounds, replicas, failure } of await Promise.all(checks.map((each) => each.run(['edge'])))) {
    t.strictSame([rounds, failure], [10, undefined])
    t.match(replicas, [{ replica: 'edge', stale: 0 }])
  }
  const entries = await store.list()
  t.strictSame(entries.flatMap(({ tags }) => tags).sort(), ['coherence-check:0', 'coherence-check:1'])
})

t.test('a replica that misses the invalidations of another one has stale reads', async (t) => {
  const { rounds, replicas, failure } = await check([memoryStore(), memoryStore()], { maxDuration: 1000 })
  t.equal(rounds, 0)
  t.equal(failure, 'stopped after 0 of 10 rounds: it takes longer than 1 s')
  const [first, second] = replicas
  t.equal(first?.stale, 0)
  t.ok(Number(second?.stale) > 0)
  t.equal(second?.maxDelayMs, undefined, 'it never showed the write')
})

t.test('a replica whose invalidation Redis has not confirmed', async (t) => {
  const store = memoryStore()
  const refusing = { ...store, fence: async () => ({ ...(await store.fence([])), state: 'refused' as const }) }
  const { failure } = await check([refusing])
  t.equal(failure, 'stopped after 0 of 10 rounds: replica-1: Redis has not confirmed the invalidation')
})

t.test('a replica that cannot use Redis answers nothing from its cache', async (t) => {
  const store = memoryStore()
  const { failure } = await check([{ ...store, lookup: () => ({ kind: 'unavailable' as const }) }], {
    maxDuration: 1000,
  })
  t.equal(failure, 'stopped after 0 of 10 rounds: it takes longer than 1 s')
})

t.test('a replica that stops answering ends the check', async (t) => {
  const store = memoryStore()
  const { failure } = await check([store, store], { silent: ['replica-2'] })
  t.equal(failure, 'stopped after 0 of 10 rounds: replica-2 did not answer within 2000 ms')
})

t.test('without Redis no replica is found', async (t) => {
  const calls: ReplicaCalls = { id: 'this', answerWith: () => undefined, call: async () => [] }
  const outcome = await createCoherenceCheck({ calls, store: memoryStore(), name: 'replica-1' }).run(['replica-2'])
  t.match(outcome, { rounds: 0, replicas: [], missing: ['replica-2'], failure: /Redis is unreachable/ })
})
