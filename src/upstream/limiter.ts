import type { NodeCall } from '../core/node-call.ts'
import type { Deadline } from '../core/timing.ts'
import { AdaptiveLimit, Slowdown } from './adaptive-limit.ts'
import type { NodeLimits } from './options.ts'
import { CallTime, Line } from './queue.ts'

/** The door of one node: so many calls inside, so many in line; who goes first is the line's affair. */

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

export type Visitor = Pick<NodeCall, 'priority' | 'caller' | 'endpoint' | 'expect'>

interface Waiter {
  readonly priority: NodeCall['priority']
  readonly caller: string
  /** Is there still time for it to be answered? */
  inTime(): boolean
  settle(entry: Entry): void
}

/** What `bulk` may hold of the places, and never the last one while there are two: the others always get through. */
const BULK_SHARE = 0.5

export class Gate {
  readonly #limit: AdaptiveLimit
  readonly #limits: Pick<NodeLimits, 'queue' | 'perCaller'>
  readonly #clock: () => number
  readonly #line = new Line<Waiter>()
  readonly #time = new CallTime()
  readonly #slowdown = new Slowdown()
  /** Places in use, by caller. */
  readonly #held = new Map<string, number>()
  #inFlight = 0
  #bulk = 0

  constructor(limits: Pick<NodeLimits, 'inFlight' | 'queue' | 'perCaller'>, clock: () => number) {
    this.#limit = new AdaptiveLimit(limits.inFlight)
    this.#limits = limits
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
    return this.#line.size < this.#limits.queue
  }

  /**
   * Resolves when the call may go, or why it may not. Who would not be through before its deadline is refused
   * at once, while the client still has time to do something else.
   */
  enter(visitor: Visitor, deadline: Deadline): Promise<Entry> {
    if (deadline.signal.aborted) return Promise.resolve(this.#tooLate(visitor, deadline))
    // Where a place is free and others wait all the same, only bulk beyond its share does.
    if (this.#inFlight < this.#limit.value && (visitor.priority !== 'bulk' || this.#bulkMayGo)) {
      this.#take(visitor)
      return Promise.resolve({ ok: true })
    }
    if (this.#wait(visitor) + this.#usual(visitor) > deadline.remaining()) {
      return Promise.resolve(this.#overloaded(visitor, 'queue longer than the time that is left'))
    }
    if (!this.hasRoom) {
      const displaced = this.#line.displacedBy(visitor)
      if (displaced === undefined) return Promise.resolve(this.#overloaded(visitor, 'queue full'))
      this.#line.remove(displaced)
      displaced.settle(this.#overloaded(displaced, 'gave its place in the queue to a call that goes first'))
    }
    return new Promise((resolve) => this.#stand(visitor, deadline, resolve))
  }

  /** The call that entered at `began` is over. */
  leave(visitor: Visitor, began: number, lesson: Lesson): void {
    this.#free(visitor)
    const now = this.#clock()
    if (lesson !== 'nothing') this.#time.took(now - began)
    if (lesson === 'answered') this.#answered(visitor, began, now)
    if (lesson === 'strained') this.#limit.strained(began, now)
    while (this.#inFlight < this.#limit.value) {
      const next = this.#line.next(this.#bulkMayGo, (caller) => this.#hasShare(caller))
      if (next === undefined) return
      if (next.inTime()) {
        this.#take(next)
        next.settle({ ok: true })
      } else next.settle(this.#overloaded(next, 'too little time left when its turn came'))
    }
  }

  /** Sends everyone in line away. */
  dismiss(refusal: Refusal): void {
    for (let one = this.#line.any(); one !== undefined; one = this.#line.any()) one.settle(refusal)
  }

  #answered({ endpoint, expect }: Visitor, began: number, now: number): void {
    // A file that is passed on takes as long as its client does.
    if (expect === 'stream') this.#limit.answered()
    else if (this.#limit.answeredIn(this.#slowdown.observe(endpoint, now - began), began, now)) this.#slowdown.forget()
  }

  get #bulkMayGo(): boolean {
    const share = Math.min(this.#limit.value - 1, Math.ceil(this.#limit.value * BULK_SHARE))
    return this.#bulk < Math.max(1, share)
  }

  #hasShare(caller: string): boolean {
    return (this.#held.get(caller) ?? 0) >= this.#limits.perCaller
  }

  #take({ priority: load, caller }: Pick<NodeCall, 'priority' | 'caller'>): void {
    this.#inFlight += 1
    if (load === 'bulk') this.#bulk += 1
    this.#held.set(caller, (this.#held.get(caller) ?? 0) + 1)
  }

  #free({ priority: load, caller }: Visitor): void {
    this.#inFlight -= 1
    if (load === 'bulk') this.#bulk -= 1
    const held = (this.#held.get(caller) ?? 0) - 1
    if (held > 0) this.#held.set(caller, held)
    else this.#held.delete(caller)
  }

  #stand({ priority: load, caller, endpoint }: Visitor, deadline: Deadline, resolve: (entry: Entry) => void): void {
    const giveUp = () => {
      this.#line.remove(waiter)
      resolve(this.#tooLate(waiter, deadline))
    }
    const waiter: Waiter = {
      priority: load,
      caller,
      inTime: () => this.#usual({ endpoint }) <= deadline.remaining(),
      settle: (entry) => {
        deadline.signal.removeEventListener('abort', giveUp)
        resolve(entry)
      },
    }
    this.#line.add(waiter)
    deadline.signal.addEventListener('abort', giveUp, { once: true })
  }

  #usual({ endpoint }: Pick<Visitor, 'endpoint'>): number {
    return this.#slowdown.usual(endpoint) ?? this.#time.average
  }

  /** How long one that comes now would stand in line. */
  #wait(visitor: Pick<NodeCall, 'priority' | 'caller'>): number {
    return this.#time.wait(this.#line.ahead(visitor), this.#limit.value)
  }

  #overloaded(visitor: Pick<NodeCall, 'priority' | 'caller'>, detail: string): Refusal {
    const retryAfter = this.#time.retryAfter(this.#line.ahead(visitor), this.#limit.value)
    return { ok: false, fault: 'overloaded', detail, retryAfter }
  }

  #tooLate(visitor: Pick<NodeCall, 'priority' | 'caller'>, deadline: Deadline): Refusal {
    if (deadline.fault() === 'timeout') return this.#overloaded(visitor, 'not its turn before the deadline')
    return { ok: false, fault: 'cancelled', detail: 'client left', retryAfter: 1 }
  }
}
