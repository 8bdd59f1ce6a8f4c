/**
 * Limits the concurrent calls to one node. Calls beyond the limit wait in a queue of bounded length. A call starts with a
 * slot of the node, which replicas share, and below the adaptive limit, which each replica measures on its own. A node that
 * answers a limited number of calls per minute has a budget: then a call also needs a permit.
 */

import type { NodeCall } from '../core/node-call.ts'
import type { NodeFault } from '../core/node-faults.ts'
import type { Deadline } from '../core/timing.ts'
import { AdaptiveLimit, LatencyBaseline } from './adaptive-limit.ts'
import type { CallBudget } from './budget.ts'
import type { HealthSignal } from './health.ts'
import type { NodeLimits } from './options.ts'
import { CallQueue, PRIORITIES, type Queueable, ServiceTime } from './queue.ts'
import { type OpenSlots, SlotsInUse } from './slots-in-use.ts'

export interface Rejection {
  readonly ok: false
  readonly fault: 'overloaded' | 'ejected' | 'drained' | 'cancelled'
  readonly detail: string
  /** Of an ejected node: why its last call failed. */
  readonly lastFault?: NodeFault
  /** Whole seconds. */
  readonly retryAfter: number
}

export type Acquisition = { readonly ok: true } | Rejection

/** What the end of a call shows about the load of its node: a success, overload, or nothing. */
export type LoadSignal = 'success' | 'overload' | 'none'

/** Refused connections and unreadable responses are no sign of overload. */
export function loadSignalOf(signal: HealthSignal): LoadSignal {
  if (signal === 'success') return 'success'
  return signal === 'failure' ? 'overload' : 'none'
}

/** The properties of a call that the limiter uses. */
export type LimitedCall = Pick<NodeCall, 'priority' | 'caller' | 'endpoint' | 'expect'>

interface QueuedCall extends Queueable {
  /** Whether the node can still answer before the deadline if the call is sent in `wait` milliseconds. */
  isInTime(wait?: number): boolean
  settle(result: Acquisition): void
}

export class ConcurrencyLimiter {
  readonly #limit: AdaptiveLimit
  readonly #limits: () => Pick<NodeLimits, 'inFlight' | 'queue' | 'perCaller'>
  readonly #clock: () => number
  readonly #slots: SlotsInUse
  readonly #budget: CallBudget
  readonly #queue = new CallQueue<QueuedCall>()
  readonly #serviceTime = new ServiceTime()
  readonly #baseline = new LatencyBaseline()

  constructor(
    limits: () => Pick<NodeLimits, 'inFlight' | 'queue' | 'perCaller'>,
    clock: () => number,
    openSlots: OpenSlots,
    budget: CallBudget,
  ) {
    this.#limit = new AdaptiveLimit(limits().inFlight)
    this.#limits = limits
    this.#clock = clock
    this.#slots = new SlotsInUse({ limits, limit: this.#limit, openSlots, onChange: () => this.#startQueued() })
    this.#budget = budget
    budget.onChange(() => {
      this.#startQueued()
      this.#rejectHopeless()
    })
  }

  get inFlight(): number {
    return this.#slots.calls
  }

  /** The limit of the node for all replicas together, as far as this replica has measured it. */
  get limit(): number {
    return this.#limit.value
  }

  /** Calls that this replica may have in flight now. */
  get usable(): number {
    return this.#slots.usable
  }

  /** Calls that would start without queueing, on slots of the node that no replica uses, and within its budget. */
  get free(): number {
    return Math.min(this.#freeSlots, Math.max(0, this.#budget.idle - this.#queue.size))
  }

  get #freeSlots(): number {
    return Math.max(0, this.#slots.available - this.#slots.calls - this.#queue.size)
  }

  /** The number of queued calls. */
  get queue(): number {
    return this.#queue.size
  }

  get hasQueueSpace(): boolean {
    return this.#queue.size < this.#limits().queue
  }

  /**
   * Resolves when the call has a slot, or with a rejection. A call that would not end before its deadline is rejected
   * immediately, while its client still has time to react.
   */
  acquire(call: LimitedCall, deadline: Deadline): Promise<Acquisition> {
    if (deadline.signal.aborted) return Promise.resolve(this.#rejectAborted(call, deadline))
    // If a slot is free while calls are queued, these are bulk calls beyond their share.
    if (this.#slots.canStart(call) && this.#budget.allows(call.priority)) {
      this.#slots.take(call)
      this.#budget.take(call.priority)
      this.#reportDemand()
      return Promise.resolve({ ok: true })
    }
    const time = deadline.remaining() - this.expectedTime(call.endpoint)
    if (this.#expectedWait(call) > time) {
      return Promise.resolve(this.#rejectOverloaded(call, 'expected wait exceeds the remaining time'))
    }
    const wait = this.#budget.waitFor(call.priority, this.#queue.countAhead(call) + 1)
    if (wait > time) return Promise.resolve(this.#rejectOverBudget(wait))
    if (!this.hasQueueSpace) {
      const displaced = this.#queue.findDisplaceable(call)
      if (displaced === undefined) return Promise.resolve(this.#rejectOverloaded(call, 'queue full'))
      this.#queue.remove(displaced)
      displaced.settle(this.#rejectOverloaded(displaced, 'displaced from the full queue'))
    }
    return new Promise((resolve) => this.#enqueue(call, deadline, resolve))
  }

  /** Returns the slot of a call that acquired it at `start`, and starts queued calls. */
  release(call: LimitedCall, start: number, signal: LoadSignal): void {
    this.#slots.free(call)
    // Before a queued call starts: another replica may be due for the slot.
    this.#reportDemand()
    const now = this.#clock()
    if (signal !== 'none') this.#serviceTime.record(now - start)
    if (signal === 'success') this.#recordSuccess(call, start, now)
    if (signal === 'overload') this.#limit.recordOverload(start, now)
    this.#startQueued()
  }

  /** Applies a changed `inFlight`. The other limits are read for each call. */
  applyLimits(): void {
    this.#limit.setMax(this.#limits().inFlight)
    this.#startQueued()
  }

  /** Returns the slots to the other replicas. */
  close(): Promise<void> {
    return this.#slots.close()
  }

  #startQueued(): void {
    while (this.#slots.calls < this.#slots.usable) {
      const next = this.#queue.takeNext(this.#isAllowed, (caller) => this.#slots.hasShare(caller))
      if (next === undefined) break
      if (next.isInTime()) {
        this.#slots.take(next)
        this.#budget.take(next.priority)
        next.settle({ ok: true })
      } else next.settle(this.#rejectOverloaded(next, 'too little time left after queueing'))
    }
    this.#reportDemand()
  }

  readonly #isAllowed = (priority: Queueable['priority']): boolean =>
    (priority !== 'bulk' || this.#slots.isBulkAllowed) && this.#budget.allows(priority)

  #reportDemand(): void {
    this.#slots.reportDemand(this.#queue)
    if (!this.#budget.isOff) this.#budget.want(this.#slots.startable(this.#queue))
  }

  /** Rejects the queued calls that the budget does not permit before their deadline, for example after the node refused a call. */
  #rejectHopeless(): void {
    if (this.#budget.isOff || this.#queue.size === 0) return
    for (const priority of PRIORITIES) {
      const wait = this.#budget.waitFor(priority, 1)
      if (wait === 0) continue
      for (const call of this.#queue.takeAll(priority, (each) => !each.isInTime(wait))) {
        call.settle(this.#rejectOverBudget(wait))
      }
    }
    this.#reportDemand()
  }

  /** Rejects all queued calls. */
  rejectQueued(rejection: Rejection): void {
    for (let next = this.#queue.takeAny(); next !== undefined; next = this.#queue.takeAny()) next.settle(rejection)
    this.#reportDemand()
  }

  #recordSuccess({ endpoint, expect }: LimitedCall, start: number, now: number): void {
    // The duration of a streamed file depends on the client, so it is not compared.
    if (expect === 'stream') this.#limit.recordSuccess()
    else if (this.#limit.recordLatency(this.#baseline.record(endpoint, now - start), start, now)) {
      this.#baseline.discardRecent()
    }
  }

  #enqueue({ priority, caller, endpoint }: LimitedCall, deadline: Deadline, resolve: (result: Acquisition) => void) {
    const onAbort = () => {
      this.#queue.remove(queued)
      this.#reportDemand()
      resolve(this.#rejectAborted(queued, deadline))
    }
    const queued: QueuedCall = {
      priority,
      caller,
      isInTime: (wait = 0) => wait + this.expectedTime(endpoint) <= deadline.remaining(),
      settle: (result) => {
        deadline.signal.removeEventListener('abort', onAbort)
        resolve(result)
      },
    }
    this.#queue.add(queued)
    this.#reportDemand()
    deadline.signal.addEventListener('abort', onAbort, { once: true })
  }

  /** Returns the expected milliseconds of a call on the node. */
  expectedTime(endpoint: string): number {
    return this.#baseline.expected(endpoint) ?? this.#serviceTime.average
  }

  /** Returns the expected milliseconds in the queue of a call that arrives now. */
  #expectedWait(call: Queueable): number {
    // A slot that no replica uses costs this replica one step over Redis.
    if (call.priority !== 'bulk' && this.#freeSlots > 0) return 0
    return this.#serviceTime.waitFor(this.#queue.countAhead(call), this.#slots.expected)
  }

  #rejectOverloaded(call: Queueable, detail: string): Rejection {
    const retryAfter = this.#serviceTime.retryAfter(this.#queue.countAhead(call), this.#slots.expected)
    return { ok: false, fault: 'overloaded', detail, retryAfter }
  }

  #rejectOverBudget(wait: number): Rejection {
    return { ok: false, fault: 'overloaded', ...this.#budget.refusal(wait) }
  }

  #rejectAborted(call: Queueable, deadline: Deadline): Rejection {
    if (deadline.fault() === 'timeout') {
      const wait = this.#budget.waitFor(call.priority, 1)
      return wait > 0 ? this.#rejectOverBudget(wait) : this.#rejectOverloaded(call, 'timed out in the queue')
    }
    return { ok: false, fault: 'cancelled', detail: 'client disconnected', retryAfter: 1 }
  }
}
