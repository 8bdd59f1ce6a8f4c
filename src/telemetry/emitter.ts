/** Where everything that the edge tells of itself comes together, and goes out to those who listen. */
import type {
  CacheEvent,
  EventListeners,
  JoinEvent,
  NodeCallEvent,
  RedisStepEvent,
  RequestEvent,
} from '../core/events.ts'

export interface Divergence {
  readonly group: string
  /** Hits that were compared with what the nodes said at that moment, since the start. */
  readonly asked: number
  readonly different: number
}

export interface Observation {
  /** What the parts of the edge are given to tell. */
  readonly observer: Required<EventListeners>
  /** Hears of everything from now on; gives what ends it. Listeners run at once: they neither throw nor wait. */
  listen(observer: EventListeners): () => void
  divergence(): readonly Divergence[]
}

export function createObservation(): Observation {
  const ears = {
    answered: new Ears<RequestEvent>(),
    called: new Ears<NodeCallEvent>(),
    composed: new Ears<JoinEvent>(),
    cache: new Ears<CacheEvent>(),
    step: new Ears<RedisStepEvent>(),
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
      request: ears.answered.tell,
      nodeCall: ears.called.tell,
      join: ears.composed.tell,
      cache: ears.cache.tell,
      redisStep: ears.step.tell,
      storeEvent: ears.store.tell,
    },
    listen: (observer) => {
      const ends = [
        ears.answered.add(observer.request?.bind(observer)),
        ears.called.add(observer.nodeCall?.bind(observer)),
        ears.composed.add(observer.join?.bind(observer)),
        ears.cache.add(observer.cache?.bind(observer)),
        ears.step.add(observer.redisStep?.bind(observer)),
        ears.store.add(observer.storeEvent?.bind(observer)),
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
