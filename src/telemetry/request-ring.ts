/** The last requests, and the listeners that get each of them at the end of its turn of the event loop: the log. */
import type { EventListeners, RequestEvent } from '../core/events.ts'
import type { EventQueue } from './event-queue.ts'

type RequestListener = Required<EventListeners>['request']

/** Requests that are remembered: more than may wait in a queue. */
const RING_SIZE = 10_000

/** `turn`: passes on the requests of a turn of the event loop at its end. `queue`: passes them to the listeners that count. */
export class RequestRing {
  readonly #turn: EventQueue
  readonly #queue: Pick<EventQueue, 'add' | 'drain'>
  /** Passes the requests of this turn to the listeners that get them at its end. */
  readonly endTurn: () => void
  readonly #slots: (RequestEvent | undefined)[] = new Array(RING_SIZE).fill(undefined)
  #next = 0

  constructor(turn: EventQueue, queue: Pick<EventQueue, 'add' | 'drain'>) {
    this.#turn = turn
    this.#queue = queue
    this.endTurn = turn.drain
  }

  readonly add = (event: RequestEvent): void => {
    this.#slots[this.#next] = event
    this.#next = (this.#next + 1) % RING_SIZE
    const waiting = { kind: 'request', event, at: event.endedAt } as const
    this.#turn.add(waiting)
    this.#queue.add(waiting)
  }

  /** Passes the requests that have ended to all listeners. Everything that reads what a listener has counted calls this first. */
  drain(): void {
    this.endTurn()
    this.#queue.drain()
  }

  /** Returns the function that removes the listener. */
  on(request: RequestListener): () => void {
    return this.#turn.on({ request })
  }

  /** Returns the requests since this time, newest first. */
  *newest(oldestAt: number): Generator<RequestEvent> {
    for (let step = 1; step <= RING_SIZE; step++) {
      const slot = this.#slots[(this.#next - step + RING_SIZE) % RING_SIZE]
      if (slot === undefined || slot.at < oldestAt) return
      yield slot
    }
  }

  find(id: string): RequestEvent | undefined {
    return this.#slots.find((each) => each?.requestId === id)
  }

  /** Releases the requests from before this time. */
  forget(oldestAt: number): void {
    this.drain()
    for (const [at, slot] of this.#slots.entries()) {
      if (slot !== undefined && slot.at < oldestAt) this.#slots[at] = undefined
    }
  }
}
