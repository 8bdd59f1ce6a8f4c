/** Stores with one thing left out, so that the checker is seen to find what it is there for. */
import type { AnswerStore } from '../../../src/cache/stores/contract.ts'
import type { KeptAnswer, Look, Mark } from '../../../src/core/stored-response.ts'

type Around = <S extends AnswerStore>(store: S) => S

/** `no bypass` is not among them: there, it is the upstream that does not heed the header. */
export const planted = {
  'no fence': (store) => over(store, { fence: async () => ({ state: 'standing', lift: async () => {}, leave() {} }) }),
  'no compare': (store) => over(store, noCompare(store)),
  'no epochs': (store) => over(store, noEpochs(store)),
} satisfies Record<string, Around>

export type Planted = keyof typeof planted

export function isPlanted(name: string): name is Planted {
  return Object.hasOwn(planted, name)
}

/** Everything else stays the store's own, whatever else it is beside an AnswerStore. */
function over<S extends AnswerStore>(store: S, methods: Partial<AnswerStore>): S {
  return new Proxy(store, {
    get(target, name) {
      const method = Reflect.get(methods, name) ?? Reflect.get(target, name)
      return typeof method === 'function' && !Object.hasOwn(methods, name) ? method.bind(target) : method
    },
  })
}

/** Whatever was kept or found here is a hit until its time is over, whichever marks it has now. */
function noCompare(store: AnswerStore): Partial<AnswerStore> {
  const known = new Map<string, { readonly answer: Omit<KeptAnswer, 'age'>; readonly begun: number }>()
  const remember = (key: string, answer: Omit<KeptAnswer, 'age'>, age: number) =>
    known.set(key, { answer, begun: performance.now() - age })
  return {
    async look(key, tags): Promise<Look> {
      const look = await store.look(key, tags)
      if (look.kind === 'present') remember(key, look.answer, look.answer.age)
      const own = known.get(key)
      if (look.kind !== 'absent' || own === undefined) return look
      const age = performance.now() - own.begun
      if (age > own.answer.keepFor) return look
      return { kind: 'present', mark: look.mark, answer: { ...own.answer, age }, near: false }
    },
    async keep(entry) {
      remember(entry.key, entry.answer, entry.answer.cost)
      await store.keep(entry)
    },
  }
}

/** Misses show no marks to whoever joins flights; hits are compared, and entries kept, by the real ones. */
function noEpochs(store: AnswerStore): Partial<AnswerStore> {
  const real = new WeakMap<Mark, Mark>()
  return {
    async look(key, tags): Promise<Look> {
      const look = await store.look(key, tags)
      if (look.kind !== 'absent') return look
      const mark: Mark = { generation: '', epochs: look.mark.epochs.map(() => ''), fenced: false }
      real.set(mark, look.mark)
      return { ...look, mark }
    },
    keep: async (entry) => {
      const mark = real.get(entry.mark) ?? entry.mark
      if (!mark.fenced) await store.keep({ ...entry, mark })
    },
    claim: (key, mark, patience) => store.claim(key, real.get(mark) ?? mark, patience),
  }
}
