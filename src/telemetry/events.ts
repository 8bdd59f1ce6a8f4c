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
  let all: readonly EventListeners[] = []
  return {
    emit: {
      request: requests.add,
      nodeCall: (event) => all.forEach((each) => void each.nodeCall?.(event)),
      ejection: (node) => all.forEach((each) => void each.ejection?.(node)),
      join: (event) => all.forEach((each) => void each.join?.(event)),
      failedLogin: (reason) => all.forEach((each) => void each.failedLogin?.(reason)),
      cache: (event) => all.forEach((each) => void each.cache?.(event)),
      redisStep: (event) => all.forEach((each) => void each.redisStep?.(event)),
      storeEvent: (event) => all.forEach((each) => void each.storeEvent?.(event)),
      uncaughtConnectionError: (code) => all.forEach((each) => void each.uncaughtConnectionError?.(code)),
    },
    on: (listeners) => {
      all = [...all, listeners]
      const off = listeners.request && requests.on(listeners.request.bind(listeners))
      return () => {
        all = all.filter((each) => each !== listeners)
        off?.()
      }
    },
    requests,
  }
}

function rethrow(error: unknown): never {
  throw error
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
