/** Where everything that the edge tells of itself comes together, and goes out to those who listen. */
import type { Answered, CacheEvent, Called, Composed, Observer, StoreStep } from '../core/events.ts'

export interface Divergence {
  readonly group: string
  /** Hits that were compared with what the nodes said at that moment, since the start. */
  readonly asked: number
  readonly different: number
}

export interface Observation {
  /** What the parts of the edge are given to tell. */
  readonly observer: Required<Observer>
  /** Hears of everything from now on; gives what ends it. Listeners run at once: they neither throw nor wait. */
  listen(observer: Observer): () => void
  divergence(): readonly Divergence[]
}

export function createObservation(): Observation {
  const ears = {
    answered: new Ears<Answered>(),
    called: new Ears<Called>(),
    composed: new Ears<Composed>(),
    cache: new Ears<CacheEvent>(),
    step: new Ears<StoreStep>(),
    store: new Ears<string>(),
  }
  const compared = new Map<string, { asked: number; different: number }>()
  ears.cache.add((event) => {
    if (event.kind !== 'verified' || event.outcome === 'void') return
    const counted = compared.get(event.group) ?? { asked: 0, different: 0 }
    counted.asked += 1
    counted.different += event.outcome === 'different' ? 1 : 0
    compared.set(event.group, counted)
  })
  return {
    observer: {
      answered: ears.answered.tell,
      called: ears.called.tell,
      composed: ears.composed.tell,
      cache: ears.cache.tell,
      step: ears.step.tell,
      store: ears.store.tell,
    },
    listen: (observer) => {
      const ends = [
        ears.answered.add(observer.answered?.bind(observer)),
        ears.called.add(observer.called?.bind(observer)),
        ears.composed.add(observer.composed?.bind(observer)),
        ears.cache.add(observer.cache?.bind(observer)),
        ears.step.add(observer.step?.bind(observer)),
        ears.store.add(observer.store?.bind(observer)),
      ]
      return () => ends.forEach((end) => void end())
    },
    divergence: () => [...compared].map(([group, counted]) => ({ group, ...counted })),
  }
}

class Ears<Event> {
  #listeners: readonly ((event: Event) => void)[] = []

  readonly tell = (event: Event): void => {
    for (const listener of this.#listeners) listener(event)
  }

  add(listener: ((event: Event) => void) | undefined): () => void {
    if (listener === undefined) return () => undefined
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.#listeners = this.#listeners.filter((each) => each !== listener)
    }
  }
}
