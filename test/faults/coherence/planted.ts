/** Stores without one part of the protocol, to prove that the checker finds the violations. */

import { setTimeout as sleep } from 'node:timers/promises'
import type { CacheStore, NewEntry, WriteFence } from '../../../src/cache/stores/contract.ts'
import type { Hit, Lookup, StoredRead, TagEpochs } from '../../../src/core/stored-response.ts'
import type { RunOptions } from './run.ts'

type Around = <S extends CacheStore>(store: S) => S

/** Found with faults of links only: a slow link to Redis counts as a lost Redis. */
export const IMPATIENT = 'no waiting for Redis'
const ATTEMPT_MS = 50

/** Found only in a run of the worst hour with this fault: of single links, or of all nodes. */
export const worstHourPlanted: Readonly<
  Record<string, { readonly chaos: string } | Pick<RunOptions, 'links' | 'writesInFaults'>>
> = {
  'old in an outage': { chaos: 'nodes refuse' },
  'old computed rows in an outage': { chaos: 'nodes refuse' },
  'no mark without Redis': { links: 'partition', writesInFaults: true },
  'no mark of computed reads': { links: 'partition', writesInFaults: true },
  'own writes forgotten without Redis': { links: 'partition' },
}

/** Those of responses that are computed. */
export const ofSnapshots: readonly string[] = [
  'no snapshot epochs',
  'old computed rows in an outage',
  'no mark of computed reads',
]

/** `no bypass` is not among them: there, the upstream ignores the header. */
export const planted = {
  'no fence': (store) =>
    over(store, { fence: async () => ({ state: 'active', lift: async () => true, keepUntilLeaseEnds() {} }) }),
  'no compare': (store) => over(store, noCompare(store)),
  'no epochs': (store) => over(store, noEpochs(store)),
  'no snapshot epochs': (store) =>
    over(
      store,
      noCompare(store, ({ stored }) => stored.kind === 'snapshot'),
    ),
  'old in an outage': (store) => over(store, noCompareInOutage(store)),
  'old computed rows in an outage': (store) =>
    over(
      store,
      noCompareInOutage(store, ({ kind }) => kind === 'snapshot'),
    ),
  'no mark without Redis': (store) => over(store, noMark(store)),
  'no mark of computed reads': (store) => over(store, noMarkOfComputed(store)),
  'own writes forgotten without Redis': (store) => over(store, noOwnWrites(store)),
  [IMPATIENT]: (store) => over(store, { fence: (tags) => fenceImpatiently(store, tags) }),
} satisfies Record<string, Around>

export type Planted = keyof typeof planted

export function isPlanted(name: string): name is Planted {
  return Object.hasOwn(planted, name)
}

/** Replaces methods of a store. */
function over<S extends CacheStore>(store: S, methods: Partial<CacheStore>): S {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof method === 'function' && !Object.hasOwn(methods, name) ? method.bind(target) : method
    },
  })
}

/**
 * Gives one attempt to set a fence and one to lift it. Without the fence, the write is forwarded and acknowledged, while
 * other replicas still have their leases. The commands reach Redis later.
 */
async function fenceImpatiently(store: CacheStore, tags: Parameters<CacheStore['fence']>[0]): Promise<WriteFence> {
  const setting = store.fence(tags)
  const fence = await Promise.race([setting, sleep(ATTEMPT_MS)])
  return {
    state: 'active',
    lift: async (more) => {
      const lifting = (fence === undefined ? setting : Promise.resolve(fence)).then((own) => own.lift(more))
      lifting.catch(() => undefined)
      await Promise.race([lifting, sleep(ATTEMPT_MS)])
      return true
    },
    keepUntilLeaseEnds: () => void setting.then((own) => own.keepUntilLeaseEnds()),
  }
}

/**
 * Serves every response that was stored or found here until it expires, whatever its epochs are now. `only`: which of
 * those that were stored here.
 */
function noCompare(store: CacheStore, only?: (entry: NewEntry) => boolean): Partial<CacheStore> {
  const known = new Map<string, { readonly response: StoredRead; readonly fetchedAt: number }>()
  const affected = new Set<string>()
  const isAffected = (key: string) => only === undefined || affected.has(key)
  const remember = (key: string, response: StoredRead, age: number) =>
    known.set(key, { response, fetchedAt: performance.now() - age })
  return {
    async lookup(key, tags): Promise<Lookup> {
      const lookup = await store.lookup(key, tags)
      if (lookup.kind === 'hit' && isAffected(key)) remember(key, lookup.response, lookup.age)
      const own = known.get(key)
      if (lookup.kind !== 'miss' || own === undefined) return lookup
      const age = performance.now() - own.fetchedAt
      if (age > own.response.ttl) return lookup
      return { kind: 'hit', epochs: lookup.epochs, response: own.response, age, isLocal: false }
    },
    async store(entry) {
      if (only?.(entry)) affected.add(entry.key)
      if (isAffected(entry.key)) remember(entry.key, entry.stored, entry.stored.fetchTime)
      await store.store(entry)
    },
  }
}

/**
 * Serves every response that was found here after its lifetime while no node answers, whatever its epochs are now. `only`:
 * which of them.
 */
function noCompareInOutage(
  store: CacheStore,
  only: (response: StoredRead) => boolean = () => true,
): Partial<CacheStore> {
  const known = new Map<string, { readonly response: StoredRead; readonly fetchedAt: number }>()
  return {
    async lookup(key, tags): Promise<Lookup> {
      const lookup = await store.lookup(key, tags)
      if (lookup.kind === 'hit' && only(lookup.response))
        known.set(key, { response: lookup.response, fetchedAt: performance.now() - lookup.age })
      const own = known.get(key)
      if (lookup.kind !== 'miss' || own === undefined) return lookup
      const response = { ...own.response, ttl: 0, staleWhileRevalidate: 0, staleWhileHot: 0, staleIfError: 0 }
      const epochs = { ...lookup.epochs, fenced: false }
      return { kind: 'hit', epochs, response, age: performance.now() - own.fetchedAt, isLocal: false }
    },
  }
}

/** As if Redis had confirmed them. */
const UNKNOWN_EPOCHS: TagEpochs = { generation: '', epochs: [], fenced: false }

/** Serves the local tier while Redis is unreachable as if Redis had confirmed it. */
function noMark(store: CacheStore): Partial<CacheStore> {
  return {
    async lookup(key, tags): Promise<Lookup> {
      const lookup = await store.lookup(key, tags)
      const local = lookup.kind === 'unavailable' ? store.lookupWithoutRedis?.(key, tags) : undefined
      return local?.kind === 'hit' ? { ...local, epochs: UNKNOWN_EPOCHS, isLocal: false } : lookup
    },
  }
}

/**
 * While Redis is unreachable, computes responses from the local snapshots as if Redis had confirmed them. What is not stored
 * counts as a miss: only then a snapshot is looked up.
 */
function noMarkOfComputed(store: CacheStore): Partial<CacheStore> {
  return {
    async lookup(key, tags): Promise<Lookup> {
      const lookup = await store.lookup(key, tags)
      if (lookup.kind !== 'unavailable') return lookup
      const local = store.lookupWithoutRedis?.(key, tags)
      if (local?.kind !== 'hit') return { kind: 'miss', epochs: UNKNOWN_EPOCHS, changed: false }
      return local.response.kind === 'snapshot' ? { ...local, epochs: UNKNOWN_EPOCHS, isLocal: false } : lookup
    },
  }
}

/** While Redis is unreachable, serves what was found here, whatever this replica has written since. */
function noOwnWrites(store: CacheStore): Partial<CacheStore> {
  const known = new Map<string, { readonly hit: Hit; readonly at: number }>()
  return {
    async lookup(key, tags): Promise<Lookup> {
      const hit = await store.lookup(key, tags)
      if (hit.kind === 'hit' && !known.has(key)) known.set(key, { hit, at: performance.now() })
      return hit
    },
    lookupWithoutRedis(key, tags) {
      const own = known.get(key)
      if (own === undefined) return store.lookupWithoutRedis?.(key, tags)
      return { ...own.hit, age: own.hit.age + performance.now() - own.at }
    },
  }
}

/** Hides the epochs of misses from request collapsing. Hits are compared, and responses stored, with the real ones. */
function noEpochs(store: CacheStore): Partial<CacheStore> {
  const real = new WeakMap<TagEpochs, TagEpochs>()
  return {
    async lookup(key, tags): Promise<Lookup> {
      const lookup = await store.lookup(key, tags)
      if (lookup.kind !== 'miss') return lookup
      const hidden: TagEpochs = { generation: '', epochs: lookup.epochs.epochs.map(() => ''), fenced: false }
      real.set(hidden, lookup.epochs)
      return { ...lookup, epochs: hidden }
    },
    store: async (entry) => {
      const epochs = real.get(entry.epochs) ?? entry.epochs
      if (!epochs.fenced) await store.store({ ...entry, epochs })
    },
    acquireFetchLock: (key, epochs, ...lease) => store.acquireFetchLock(key, real.get(epochs) ?? epochs, ...lease),
  }
}
