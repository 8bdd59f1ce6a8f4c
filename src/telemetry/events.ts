/** The event emitter of the process: all rooms emit here; metrics, the console, the log and the audit listen. */
import type { EventListeners, RequestEvent } from '../core/events.ts'
import { RequestRing } from './request-ring.ts'

export interface EdgeEvents {
  /** The functions that the other rooms call when an event happens. */
  readonly emit: Required<EventListeners>
  /**
   * Calls the listeners for each event from now on. Returns the function that removes them. Listeners must not block. They
   * run synchronously and must not throw, except those of requests.
   */
  on(listeners: EventListeners): () => void
  readonly requests: RequestRing
}

/** `onRequestError`: a listener of requests has thrown this. */
export function createEdgeEvents(onRequestError: (error: unknown, event: RequestEvent) => void = rethrow): EdgeEvents {
  const requests = new RequestRing(onRequestError)
  const emitters = {
    nodeCall: createEmitter<'nodeCall'>(),
    ejection: createEmitter<'ejection'>(),
    join: createEmitter<'join'>(),
    failedLogin: createEmitter<'failedLogin'>(),
    cache: createEmitter<'cache'>(),
    redisStep: createEmitter<'redisStep'>(),
    storeEvent: createEmitter<'storeEvent'>(),
    uncaughtConnectionError: createEmitter<'uncaughtConnectionError'>(),
  }
  return {
    emit: {
      request: requests.add,
      nodeCall: emitters.nodeCall.emit,
      ejection: emitters.ejection.emit,
      join: emitters.join.emit,
      failedLogin: emitters.failedLogin.emit,
      cache: emitters.cache.emit,
      redisStep: emitters.redisStep.emit,
      storeEvent: emitters.storeEvent.emit,
      uncaughtConnectionError: emitters.uncaughtConnectionError.emit,
    },
    on: (listeners) => {
      const removals = [
        listeners.request && requests.on(listeners.request.bind(listeners)),
        emitters.nodeCall.on(listeners.nodeCall?.bind(listeners)),
        emitters.ejection.on(listeners.ejection?.bind(listeners)),
        emitters.join.on(listeners.join?.bind(listeners)),
        emitters.failedLogin.on(listeners.failedLogin?.bind(listeners)),
        emitters.cache.on(listeners.cache?.bind(listeners)),
        emitters.redisStep.on(listeners.redisStep?.bind(listeners)),
        emitters.storeEvent.on(listeners.storeEvent?.bind(listeners)),
        emitters.uncaughtConnectionError.on(listeners.uncaughtConnectionError?.bind(listeners)),
      ]
      return () => {
        for (const remove of removals) remove?.()
      }
    },
    requests,
  }
}

function rethrow(error: unknown): never {
  throw error
}

type EventOf<Name extends keyof EventListeners> = Parameters<Required<EventListeners>[Name]>[0]
type Listener<Name extends keyof EventListeners> = (event: EventOf<Name>) => void

function createEmitter<Name extends keyof EventListeners>() {
  let listeners: readonly Listener<Name>[] = []
  return {
    emit: (event: EventOf<Name>): void => {
      for (const listener of listeners) listener(event)
    },
    on: (listener: Listener<Name> | undefined): (() => void) => {
      if (listener === undefined) return () => undefined
      listeners = [...listeners, listener]
      return () => {
        listeners = listeners.filter((each) => each !== listener)
      }
    },
  }
}

/** How often hits of a cache group differed from a fresh response of the nodes, since the start. */
export interface Divergence {
  readonly group: string
  /** Hits that were compared with a fresh response. */
  readonly compared: number
  readonly different: number
}

/** Counts divergence from now on. Returns the function that reads the counts; groups without a comparison are absent. */
export function countDivergence({ on }: Pick<EdgeEvents, 'on'>): () => readonly Divergence[] {
  const counts = new Map<string, { compared: number; different: number }>()
  on({
    cache: (event) => {
      if (event.kind !== 'verified' || event.outcome === 'inconclusive') return
      const count = counts.get(event.group) ?? { compared: 0, different: 0 }
      count.compared += 1
      count.different += event.outcome === 'different' ? 1 : 0
      counts.set(event.group, count)
    },
  })
  return () => [...counts].map(([group, count]) => ({ group, ...count }))
}
