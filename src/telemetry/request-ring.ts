/** The last requests, and the listeners that get each of them at the end of its turn of the event loop: the log. */
import { type EventListeners, type RequestEvent, RequestRecord } from '../core/events.ts'
import type { EventQueue } from './event-queue.ts'

type RequestListener = Required<EventListeners>['request']

/** Requests that are remembered. */
const RING_SIZE = 10_000
/** Requests that wait for the listeners; at this number they are passed on at once, in less than a millisecond. */
const MAX_WAITING = 500

/**
 * `queue`: gets each request for the listeners that count. `onError`: a listener has thrown this for this request. The other
 * listeners get the request nevertheless.
 */
export class RequestRing {
  readonly #queue: Pick<EventQueue, 'add' | 'drain'>
  readonly #onError: (error: unknown, event: RequestEvent) => void
  readonly #slots: (RequestRecord | undefined)[] = new Array(RING_SIZE).fill(undefined)
  #listeners: readonly RequestListener[] = []
  #next = 0
  #waiting = 0
  #isScheduled = false
  #isDraining = false

  constructor(queue: Pick<EventQueue, 'add' | 'drain'>, onError: (error: unknown, event: RequestEvent) => void) {
    this.#queue = queue
    this.#onError = onError
  }

  /**
   * Copies the fields to a slot that is used again. The event itself is not kept: the collector of garbage would copy
   * each of them twice before it is replaced. The listeners get the slot at the end of this turn of the event loop,
   * with those of the other requests of the turn: one listener after the other, whose code and data stay in the caches
   * of the processor.
   */
  readonly add = (event: RequestEvent): void => {
    if (this.#waiting >= MAX_WAITING) this.endTurn()
    const slot = this.#slots[this.#next] ?? new RequestRecord()
    this.#slots[this.#next] = slot
    copyRequest(event, slot)
    this.#next = (this.#next + 1) % RING_SIZE
    this.#waiting += 1
    this.#queue.add('request', slot)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.endTurn)
  }

  /** Passes the requests that have ended to all listeners. Everything that reads what a listener has counted calls this first. */
  drain(): void {
    this.endTurn()
    this.#queue.drain()
  }

  /** Passes them to the listeners that get them at the end of the turn. */
  readonly endTurn = (): void => {
    // A listener may write to the log, which drains first.
    if (this.#isDraining) return
    this.#isDraining = true
    this.#isScheduled = false
    const first = this.#next - this.#waiting + RING_SIZE
    const end = this.#next + RING_SIZE
    this.#waiting = 0
    try {
      for (const listener of this.#listeners) {
        for (let at = first; at < end; at++) {
          const slot = this.#slots[at % RING_SIZE]
          if (slot === undefined) continue
          try {
            listener(slot)
          } catch (error) {
            this.#onError(error, slot)
          }
        }
      }
    } finally {
      this.#isDraining = false
    }
  }

  /** Returns the function that removes the listener. */
  on(listener: RequestListener): () => void {
    this.drain()
    this.#listeners = [...this.#listeners, listener]
    return () => {
      this.drain()
      this.#listeners = this.#listeners.filter((each) => each !== listener)
    }
  }

  /** Returns the requests since this time, newest first. */
  *newest(oldestAt: number): Generator<RequestEvent> {
    for (let step = 1; step <= RING_SIZE; step++) {
      const slot = this.#slots[(this.#next - step + RING_SIZE) % RING_SIZE]
      if (slot === undefined || slot.at < oldestAt) return
      yield { ...slot }
    }
  }

  find(id: string): RequestEvent | undefined {
    const slot = this.#slots.find((each) => each?.requestId === id)
    return slot && { ...slot }
  }

  /** Releases the requests from before this time. */
  forget(oldestAt: number): void {
    this.drain()
    for (const [at, slot] of this.#slots.entries()) {
      if (slot !== undefined && slot.at < oldestAt) this.#slots[at] = undefined
    }
  }
}

/** Field by field, because `Object.assign` takes several times as long. */
function copyRequest(event: RequestEvent, record: RequestRecord): void {
  record.at = event.at
  record.endedAt = event.endedAt
  record.requestId = event.requestId
  record.method = event.method
  record.sentMethod = event.sentMethod
  record.route = event.route
  record.path = event.path
  record.group = event.group
  record.status = event.status
  record.ms = event.ms
  record.bytes = event.bytes
  record.cache = event.cache
  record.fetchTime = event.fetchTime
  record.cacheStatus = event.cacheStatus
  record.age = event.age
  record.errorCode = event.errorCode
  record.caller = event.caller
  record.client = event.client
  record.traceId = event.traceId
  record.rejectedWith = event.rejectedWith
  record.isOfListener = event.isOfListener
  record.message = event.message
}
