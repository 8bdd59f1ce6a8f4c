/** Events for listeners that get them in batches, so that no request waits for them or runs their code. */
import type { EventListeners } from '../core/events.ts'

type Kind = keyof EventListeners

interface WaitingEvent {
  readonly kind: Kind
  /** Must not change before the next batch. */
  readonly event: unknown
  /** When it was emitted, in monotonic milliseconds. */
  readonly at: number
}

/** A listener has thrown this for this event. The other listeners get the event nevertheless. */
type OnListenerError = (error: unknown, kind: Kind, event: unknown) => void

/** Events that wait; at this number they are passed on at once, in less than a millisecond. */
const MAX_WAITING = 500

export class EventQueue {
  readonly #onError: OnListenerError
  readonly #schedule: (drain: () => void) => void
  #listeners: readonly EventListeners[] = []
  #waiting: WaitingEvent[] = []
  #isScheduled = false
  #isDraining = false

  /** `schedule`: calls the function when a batch that begins now is due. An earlier call ends the batch before. */
  constructor(onError: OnListenerError, schedule: (drain: () => void) => void) {
    this.#onError = onError
    this.#schedule = schedule
  }

  add(event: WaitingEvent): void {
    if (this.#listeners.length === 0) return
    if (this.#waiting.push(event) >= MAX_WAITING) this.drain()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      this.#schedule(this.drain)
    }
  }

  /**
   * Passes on the events that wait: one listener after the other, whose code and data stay in the caches of the processor.
   * Everything that reads what a listener has counted calls this first.
   */
  readonly drain = (): void => {
    // A listener may emit events, read counts, or write to the log, which drains first. Each gets older events before newer ones.
    if (this.#isDraining) return
    this.#isDraining = true
    this.#isScheduled = false
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
