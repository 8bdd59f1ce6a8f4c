/** Events for the listeners that count: they get them in batches, so that no request waits for them or runs their code. */
import type { EventListeners } from '../core/events.ts'
import { systemClock } from '../core/timing.ts'

type Kind = keyof EventListeners

interface WaitingEvent {
  readonly kind: Kind
  readonly event: unknown
  /** Monotonic milliseconds. */
  readonly at: number
}

/** Events that wait; at this number they are passed on at once, in less than a millisecond. */
const MAX_WAITING = 500
const BATCH_INTERVAL_MS = 250

/** `onError`: a listener has thrown this for this event. The other listeners get the event nevertheless. */
export class EventQueue {
  readonly #onError: (error: unknown, kind: Kind, event: unknown) => void
  #listeners: readonly EventListeners[] = []
  #waiting: WaitingEvent[] = []
  #timer: NodeJS.Timeout | undefined
  #isDraining = false

  constructor(onError: (error: unknown, kind: Kind, event: unknown) => void) {
    this.#onError = onError
  }

  /** `event`: must not change before the next batch. */
  add(kind: Kind, event: unknown): void {
    if (this.#listeners.length === 0) return
    if (this.#waiting.push({ kind, event, at: systemClock.elapsed() }) >= MAX_WAITING) this.drain()
    else this.#timer ??= setTimeout(this.drain, BATCH_INTERVAL_MS).unref()
  }

  /**
   * Passes on the events that wait: one listener after the other, whose code and data stay in the caches of the processor.
   * Everything that reads what a listener has counted calls this first.
   */
  readonly drain = (): void => {
    // A listener may emit events or read counts. Each listener gets the events that wait now before newer ones.
    if (this.#isDraining) return
    this.#isDraining = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    const waiting = this.#waiting
    this.#waiting = []
    try {
      for (const listeners of this.#listeners) {
        for (const { kind, event, at } of waiting) {
          try {
            ;(listeners[kind] as ((event: unknown, at: number) => void) | undefined)?.call(listeners, event, at)
          } catch (error) {
            this.#onError(error, kind, event)
          }
        }
      }
    } finally {
      this.#isDraining = false
    }
  }

  /** Returns the function that removes the listeners. */
  on(listeners: EventListeners): () => void {
    this.drain()
    this.#listeners = [...this.#listeners, listeners]
    return () => {
      this.drain()
      this.#listeners = this.#listeners.filter((each) => each !== listeners)
    }
  }
}
