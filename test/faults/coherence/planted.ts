/** Stores with one thing left out, so that the checker is seen to find what it is there for. */
import type { CacheStore } from '../../../src/cache/stores/contract.ts'
import type { Lookup, StoredResponse, TagEpochs } from '../../../src/core/response.ts'

type Around = <S extends CacheStore>(store: S) => S

/** `no bypass` is not among them: there, it is the upstream that does not heed the header. */
export const planted = {
  'no fence': (store) =>
    over(store, { fence: async () => ({ state: 'active', lift: async () => {}, keepUntilLeaseEnds() {} }) }),
  'no compare': (store) => over(store, noCompare(store)),
  'no epochs': (store) => over(store, noEpochs(store)),
} satisfies Record<string, Around>

export type Planted = keyof typeof planted

export function isPlanted(name: string): name is Planted {
  return Object.hasOwn(planted, name)
}

/** Everything else stays the store's own, whatever else it is beside an AnswerStore. */
function over<S extends CacheStore>(store: S, methods: Partial<CacheStore>): S {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof method === 'function' && !Object.hasOwn(methods, name) ? method.bind(target) : method
    },
  })
}

/** Whatever was kept or found here is a hit until its time is over, whichever marks it has now. */
function noCompare(store: CacheStore): Partial<CacheStore> {
  const known = new Map<string, { readonly answer: Omit<StoredResponse, 'age'>; readonly begun: number }>()
  const remember = (key: string, answer: Omit<StoredResponse, 'age'>, age: number) =>
    known.set(key, { answer, begun: performance.now() - age })
  return {
    async lookup(key, tags): Promise<Lookup> {
      const look = await store.lookup(key, tags)
      if (look.kind === 'hit') remember(key, look.response, look.response.age)
      const own = known.get(key)
      if (look.kind !== 'miss' || own === undefined) return look
      const age = performance.now() - own.begun
      if (age > own.answer.ttl) return look
      return { kind: 'hit', epochs: look.epochs, response: { ...own.answer, age }, isLocal: false }
    },
    async store(entry) {
      remember(entry.key, entry.response, entry.response.fetchTime)
      await store.store(entry)
    },
  }
}

/** Misses show no marks to whoever joins flights; hits are compared, and entries kept, by the real ones. */
function noEpochs(store: CacheStore): Partial<CacheStore> {
  const real = new WeakMap<TagEpochs, TagEpochs>()
  return {
    async lookup(key, tags): Promise<Lookup> {
      const look = await store.lookup(key, tags)
      if (look.kind !== 'miss') return look
      const mark: TagEpochs = { generation: '', epochs: look.epochs.epochs.map(() => ''), fenced: false }
      real.set(mark, look.epochs)
      return { ...look, epochs: mark }
    },
    store: async (entry) => {
      const mark = real.get(entry.epochs) ?? entry.epochs
      if (!mark.fenced) await store.store({ ...entry, epochs: mark })
    },
    acquireFetchLock: (key, mark, patience) => store.acquireFetchLock(key, real.get(mark) ?? mark, patience),
  }
}
