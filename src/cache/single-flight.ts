/** Request collapsing: identical pieces of work in flight run once, and all callers get their result. */
import { Cancellation } from '../core/cancellation.ts'
import { AbandonedError } from '../core/presence.ts'
import type { RequestClient } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import { waitForTurn } from '../core/turns.ts'
import { InFlightMap } from './in-flight-map.ts'
import { SharedPresence } from './shared-presence.ts'

/** What a caller does with the result until it waits again. Thousands of callers may share one result. */
const FOLLOWER_MS = 0.1

/**
 * The work has its own client, whose signal is aborted when the last caller has aborted and the result is not stored,
 * never because the first caller has aborted. Its presence is that of all callers.
 */
interface Work<T> {
  /** Called for the caller that starts the work, before it starts. If it throws, this caller gets the error. */
  onStart?(): void
  run(client: RequestClient): Promise<T>
  /** What was sent goes on when all callers have aborted, because its result is stored. */
  readonly continuesWithoutCallers: boolean
}

export interface Shared<T> {
  readonly value: T
  /** Another caller started the work. */
  readonly collapsed: boolean
}

export class SingleFlight<T> {
  readonly #isOfStarter: (error: unknown) => boolean
  readonly #flights = new InFlightMap<Flight<T>>()
  /** For `joinNext`: the flights that start when the one under way has ended. */
  readonly #waiting = new Map<string, Flight<T>>()

  /** `isOfStarter`: whether an error concerns only the caller that started the work. The others join again. */
  constructor(isOfStarter: (error: unknown) => boolean) {
    this.#isOfStarter = isOfStarter
  }

  /** Joins the flight with this id, or starts one. Rejects as the work does, or with the reason of the client's signal. */
  async join(id: string, client: RequestClient, work: Work<T>): Promise<Shared<T>> {
    client.signal.throwIfAborted()
    const found = this.#flights.get(id)
    if (found === undefined || found.isAbandoned) {
      work.onStart?.()
      const flight = new Flight(work)
      const value = flight.join(client)
      this.#begin(id, flight)
      return { value: await value, collapsed: false }
    }
    return this.#follow(found, client, () => this.join(id, client, work))
  }

  /** Starts a flight without a caller, unless there is one with this id. Resolves when it has ended; never rejects. */
  async background(id: string, work: Work<T>): Promise<void> {
    const known = this.#flights.get(id)
    const flight = known ?? new Flight(work)
    flight.presence.pin()
    if (known === undefined) this.#begin(id, flight)
    await flight.start().catch(() => {})
  }

  /**
   * Joins only a flight that starts from now on: a flight under way may have read what a write has changed since.
   * Whatever the number of callers, one flight is under way and one starts after it.
   */
  async joinNext(id: string, client: RequestClient, work: Work<T>): Promise<Shared<T>> {
    client.signal.throwIfAborted()
    const waiting = this.#waiting.get(id)
    if (waiting === undefined || waiting.isAbandoned) {
      work.onStart?.()
      const current = this.#flights.get(id)
      const flight = new Flight(work, current?.start())
      const value = flight.join(client)
      if (current === undefined) this.#begin(id, flight)
      else this.#waiting.set(id, flight)
      return { value: await value, collapsed: false }
    }
    return this.#follow(waiting, client, () => this.joinNext(id, client, work))
  }

  async #follow(flight: Flight<T>, client: RequestClient, joinAgain: () => Promise<Shared<T>>): Promise<Shared<T>> {
    try {
      const value = await flight.join(client)
      const turn = waitForTurn(FOLLOWER_MS)
      if (turn !== undefined) await turn
      return { value, collapsed: true }
    } catch (error) {
      // The client may have joined at the moment at which the flight was abandoned.
      const isOfOthers = error instanceof AbandonedError ? isConnected(client) : this.#isOfStarter(error)
      if (client.signal.aborted || !isOfOthers) throw error
      return joinAgain()
    }
  }

  #begin(id: string, flight: Flight<T>): void {
    this.#flights.set(id, flight)
    const end = () => {
      const next = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (next !== undefined) this.#begin(id, next)
      else if (this.#flights.get(id) === flight) this.#flights.delete(id)
    }
    flight.start().then(end, end)
  }
}

function isConnected({ presence }: RequestClient): boolean {
  return presence === undefined || presence.state === 'connected'
}

class Flight<T> {
  readonly presence = new SharedPresence()
  readonly #controller = new Cancellation()
  readonly #work: Work<T>
  readonly #after: Promise<unknown> | undefined
  #outcome: Promise<T> | undefined
  #callers = 0

  /** `after`: the work starts when this promise has settled. */
  constructor(work: Work<T>, after?: Promise<unknown>) {
    this.#work = work
    this.#after = after
  }

  /** Starts the work, once. Returns its outcome. */
  start(): Promise<T> {
    if (this.#outcome !== undefined) return this.#outcome
    const { signal } = this.#controller
    const client = { signal, presence: this.presence }
    const startLater = () => {
      signal.throwIfAborted()
      return this.#work.run(client)
    }
    this.#outcome = this.#after === undefined ? this.#work.run(client) : this.#after.then(startLater, startLater)
    // Each caller gets the rejection; without a caller, it must not end the process.
    this.#outcome.catch(() => {})
    return this.#outcome
  }

  get isAbandoned(): boolean {
    return this.#controller.signal.aborted
  }

  /** The first caller starts the work. It is in the presence before: work without a connected client is an abandoned call. */
  async join({ signal, presence, flow }: RequestClient): Promise<T> {
    this.#callers += 1
    const leave = this.presence.join(presence, flow?.isBulk)
    try {
      return await withTimeout<T, never>(this.start(), Number.POSITIVE_INFINITY, undefined as never, signal)
    } finally {
      leave()
      this.#callers -= 1
      if (signal.aborted && this.#callers === 0 && !this.#work.continuesWithoutCallers)
        this.#controller.abort(signal.reason)
    }
  }
}
