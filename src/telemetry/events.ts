/** The event emitter of the process: all rooms emit here; metrics, the console, the log and the audit listen. */
import type { EventListeners } from '../core/events.ts'
import { RequestRing } from './requests.ts'

export interface EdgeEvents {
  /** The functions that the other rooms call when an event happens. They never throw. */
  readonly emit: Required<EventListeners>
  /**
   * Calls the listeners for each event from now on. Returns the function that removes them. Listeners must not block. They
   * run synchronously, except those of requests.
   */
  on(listeners: EventListeners): () => void
  readonly requests: RequestRing
}

/** A listener has thrown `error` for an event of this kind; the other listeners get it nevertheless. */
export type OnListenerError = (error: unknown, kind: keyof EventListeners, requestId?: string) => void

export function createEdgeEvents(onError: OnListenerError = rethrow): EdgeEvents {
  const requests = new RequestRing((error, { requestId }) => onError(error, 'request', requestId))
  let all: readonly EventListeners[] = []
  /** The caller of an emitter has its own work to do, which must not end with an error of a listener. */
  const emitterOf = <Kind extends keyof EventListeners>(kind: Kind): Required<EventListeners>[Kind] => {
    const emit = (event: never): void => {
      for (const each of all) {
        try {
          ;(each[kind] as ((event: never) => void) | undefined)?.call(each, event)
        } catch (error) {
          onError(error, kind)
        }
      }
    }
    return emit as Required<EventListeners>[Kind]
  }
  return {
    emit: {
      request: requests.add,
      nodeCall: emitterOf('nodeCall'),
      ejection: emitterOf('ejection'),
      join: emitterOf('join'),
      failedLogin: emitterOf('failedLogin'),
      cache: emitterOf('cache'),
      redisStep: emitterOf('redisStep'),
      storeEvent: emitterOf('storeEvent'),
      uncaughtConnectionError: emitterOf('uncaughtConnectionError'),
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
