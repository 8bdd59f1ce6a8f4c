/**
 * One piece of work for many callers. The work has a signal of its own: it is aborted only when all callers have left
 * and nobody keeps what comes of it, never because the first of them did.
 */
export interface Work<T> {
  /** Rejects or resolves for all callers alike. */
  run(signal: AbortSignal): Promise<T>
  /** Goes on when all callers have left, since its outcome is kept. */
  readonly continuesWithoutCallers: boolean
}

export interface Shared<T> {
  readonly value: T
  /** Somebody else's work was joined. */
  readonly collapsed: boolean
}

class Flight<T> {
  readonly outcome: Promise<T>
  readonly #controller = new AbortController()
  readonly #lasting: boolean
  #waiting = 0

  constructor(work: Work<T>, after: Promise<unknown> | undefined) {
    const { signal } = this.#controller
    this.#lasting = work.continuesWithoutCallers
    this.outcome = after === undefined ? work.run(signal) : after.then(() => begin(work, signal))
    // Whoever waits hears of a failure; when nobody does, it must not end the process.
    this.outcome.catch(() => {})
  }

  get abandoned(): boolean {
    return this.#controller.signal.aborted
  }

  wait(signal: AbortSignal): Promise<T> {
    this.#waiting += 1
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting -= 1
        if (this.#waiting === 0 && !this.#lasting) this.#controller.abort(signal.reason)
        reject(signal.reason)
      }
      signal.addEventListener('abort', leave, { once: true })
      const stay = () => signal.removeEventListener('abort', leave)
      this.outcome.then(
        (value) => {
          stay()
          resolve(value)
        },
        (fault) => {
          stay()
          reject(fault)
        },
      )
    })
  }
}

function begin<T>(work: Work<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  return work.run(signal)
}

interface Slot<T> {
  current: Flight<T>
  next?: Flight<T>
}

export class SingleFlight<T> {
  readonly #flights = new Map<string, Flight<T>>()
  readonly #slots = new Map<string, Slot<T>>()

  /** Joins the flight under way by that name, or begins it. */
  async join(id: string, signal: AbortSignal, work: Work<T>): Promise<Shared<T>> {
    signal.throwIfAborted()
    const found = this.#flights.get(id)
    const joined = found !== undefined && !found.abandoned
    return { value: await (joined ? found : this.#begin(id, work)).wait(signal), collapsed: joined }
  }

  /** Begins a flight that nobody waits for, unless it is under way. Resolves when it is over; never rejects. */
  async background(id: string, work: Work<T>): Promise<void> {
    await (this.#flights.get(id) ?? this.#begin(id, work)).outcome.catch(() => {})
  }

  /**
   * Joins only a flight that begins from now on: one that is under way may have read what a write has changed since.
   * There is one under way at most and one that begins after it, whatever the number of callers.
   */
  async joinNext(id: string, signal: AbortSignal, work: Work<T>): Promise<Shared<T>> {
    signal.throwIfAborted()
    const slot = this.#slots.get(id)
    if (slot === undefined) {
      const current = new Flight(work, undefined)
      this.#follow(id, { current })
      return { value: await current.wait(signal), collapsed: false }
    }
    const joined = slot.next !== undefined && !slot.next.abandoned
    if (!joined)
      slot.next = new Flight(
        work,
        slot.current.outcome.catch(() => {}),
      )
    const flight = slot.next as Flight<T>
    return { value: await flight.wait(signal), collapsed: joined }
  }

  #begin(id: string, work: Work<T>): Flight<T> {
    const flight = new Flight(work, undefined)
    this.#flights.set(id, flight)
    const end = () => {
      if (this.#flights.get(id) === flight) this.#flights.delete(id)
    }
    flight.outcome.then(end, end)
    return flight
  }

  #follow(id: string, slot: Slot<T>): void {
    this.#slots.set(id, slot)
    const over = () => {
      const { next } = slot
      if (next === undefined) this.#slots.delete(id)
      else this.#follow(id, { current: next })
    }
    slot.current.outcome.then(over, over)
  }
}
