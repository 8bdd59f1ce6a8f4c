/** The door of one node: so many calls inside, so many in line, first come first served. */
import { AdaptiveLimit } from './adaptive-limit.ts'
import type { Deadline } from './deadline.ts'

export interface Refusal {
  readonly ok: false
  readonly fault: 'overloaded' | 'ejected' | 'cancelled'
  readonly detail: string
  /** Whole seconds. */
  readonly retryAfter: number
}

export type Entry = { readonly ok: true } | Refusal

/** What a call that leaves has shown of the node: it answered, it suffered, or neither. */
export type Lesson = 'answered' | 'strained' | 'nothing'

type Waiter = (entry: Entry) => void

/** Weight of the newest call in the average time of a call: what was slow is believed slowly, recovery at once. */
const SLOWER = 0.2
const QUICKER = 0.5
/** Nobody is told to come back later than that: the estimate is rough. */
const LONGEST_RETRY = 30

export class Gate {
  readonly #limit: AdaptiveLimit
  readonly #places: number
  readonly #clock: () => number
  /** A Set keeps the order of arrival and lets anyone leave the line at once. */
  readonly #line = new Set<Waiter>()
  #inFlight = 0
  #average = 0

  constructor(limits: { inFlight: number; queue: number }, clock: () => number) {
    this.#limit = new AdaptiveLimit(limits.inFlight)
    this.#places = limits.queue
    this.#clock = clock
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get limit(): number {
    return this.#limit.value
  }

  get queue(): number {
    return this.#line.size
  }

  get hasRoom(): boolean {
    return this.#line.size < this.#places
  }

  /**
   * Resolves when the call may go, or why it may not. Who would not be through before its deadline is refused
   * at once, while the client still has time to do something else.
   */
  enter(deadline: Deadline): Promise<Entry> {
    if (deadline.signal.aborted) return Promise.resolve(this.#tooLate(deadline))
    if (this.#line.size === 0 && this.#inFlight < this.#limit.value) {
      this.#inFlight += 1
      return Promise.resolve({ ok: true })
    }
    if (!this.hasRoom) return Promise.resolve(this.#overloaded('queue full'))
    if (this.#wait() + this.#average > deadline.remaining()) {
      return Promise.resolve(this.#overloaded('queue longer than the time that is left'))
    }
    return new Promise((resolve) => this.#stand(deadline, resolve))
  }

  /** The call that entered at `began` is over. */
  leave(began: number, lesson: Lesson): void {
    const now = this.#clock()
    this.#inFlight -= 1
    if (lesson !== 'nothing') this.#average = blend(this.#average, now - began)
    if (lesson === 'answered') this.#limit.answered()
    if (lesson === 'strained') this.#limit.strained(began, now)
    while (this.#inFlight < this.#limit.value && this.#line.size > 0) {
      this.#inFlight += 1
      this.#next({ ok: true })
    }
  }

  /** Sends everyone in line away. */
  dismiss(refusal: Refusal): void {
    while (this.#line.size > 0) this.#next(refusal)
  }

  #next(entry: Entry): void {
    for (const waiter of this.#line) {
      this.#line.delete(waiter)
      waiter(entry)
      return
    }
  }

  #stand(deadline: Deadline, resolve: (entry: Entry) => void): void {
    const giveUp = () => {
      this.#line.delete(waiter)
      resolve(this.#tooLate(deadline))
    }
    const waiter: Waiter = (entry) => {
      deadline.signal.removeEventListener('abort', giveUp)
      resolve(entry)
    }
    this.#line.add(waiter)
    deadline.signal.addEventListener('abort', giveUp, { once: true })
  }

  /** How long the next one in line would stand there. */
  #wait(): number {
    return ((this.#line.size + 1) * this.#average) / this.#limit.value
  }

  #overloaded(detail: string): Refusal {
    const seconds = Math.ceil(this.#wait() / 1000)
    return { ok: false, fault: 'overloaded', detail, retryAfter: Math.min(LONGEST_RETRY, Math.max(1, seconds)) }
  }

  #tooLate(deadline: Deadline): Refusal {
    if (deadline.fault() === 'timeout') return this.#overloaded('not its turn before the deadline')
    return { ok: false, fault: 'cancelled', detail: 'client left', retryAfter: 1 }
  }
}

function blend(average: number, newest: number): number {
  if (average === 0) return newest
  return average + (newest - average) * (newest > average ? SLOWER : QUICKER)
}
