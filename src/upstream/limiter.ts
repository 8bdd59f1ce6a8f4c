/**
 * Limits the concurrent calls to one node. Calls beyond the limit wait in a queue of bounded length. A call starts with a
 * slot of the node, which replicas share, and below the limit of this replica (`call-limit.ts`). A node that answers a limited number of calls per minute has a budget: then a call also needs a permit.
 */

import type { NodeCall, NodeSlots, SharedSlots } from '../core/node-call.ts'
import type { Deadline } from '../core/timing.ts'
import { ABANDONED, watchAbandonment } from './abandoned-calls.ts'
import type { CallBudget, PermitCounts } from './call-budget.ts'
import { CallLimit } from './call-limit.ts'
import { EndpointTimes, ServiceTime } from './call-times.ts'
import type { HealthSignal } from './health.ts'
import type { Rejection } from './node-response.ts'
import type { NodeLimits } from './options.ts'
import { CallQueue, PRIORITIES, type Queueable } from './queue.ts'

export type Acquisition = { readonly ok: true } | Rejection

/** The properties of a call that the limiter uses. */
export type LimitedCall = Pick<NodeCall, 'priority' | 'caller' | 'endpoint' | 'presence'>

interface QueuedCall extends Queueable {
  /** Whether the node can still answer before the deadline if the call is sent in `wait` milliseconds. */
  isInTime(wait?: number): boolean
  settle(result: Acquisition): void
}

interface LimiterOptions {
  readonly limits: () => Pick<NodeLimits, 'inFlight' | 'queue' | 'perCaller'>
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Returns `undefined` while the node has no limit of calls per minute. */
  readonly budget: () => CallBudget | undefined
}

/**
 * The share of the slots that `bulk` calls may use. Of two or more slots they never use the last one, so calls of other
 * priorities always find a slot.
 */
const BULK_SHARE = 0.5

/**
 * A call is sent if this multiple of its usual time is left, or this share of its timeout if that is less. Most calls that are
 * sent later time out on the node, which works on them all the same.
 */
const RESERVED_TIMES = 2
const MAX_RESERVED_SHARE = 0.75

export class ConcurrencyLimiter {
  readonly #options: LimiterOptions
  readonly #budget: LimiterOptions['budget']
  readonly #limit: CallLimit
  /** Each call takes one of these slots; a bulk call takes one of `#bulkSlots` in addition. */
  readonly #slots: NodeSlots | undefined
  readonly #bulkSlots: NodeSlots | undefined
  /** The calls of this process in flight, by caller. */
  readonly #callsOf = new Map<string, number>()
  #calls = 0
  #bulkCalls = 0
  readonly #queue = new CallQueue<QueuedCall>()
  readonly #serviceTime = new ServiceTime()
  readonly #times = new EndpointTimes()

  /** `slots`: absent: this process shares the limit of the node with no other. */
  constructor(
    node: string,
    slots: SharedSlots | undefined,
    options: LimiterOptions,
    limit = new CallLimit(options.limits().inFlight),
  ) {
    const { limits, budget } = options
    const onChange = () => this.#startQueued()
    this.#options = options
    this.#budget = budget
    this.#limit = limit
    this.#slots = slots?.open(node, () => limits().inFlight, onChange)
    this.#bulkSlots = slots?.open(`${node}:bulk`, () => bulkShareOf(limits().inFlight), onChange)
  }

  get inFlight(): number {
    return this.#calls
  }

  /** The limit of the node for all replicas together, as far as this replica has measured it. */
  get limit(): number {
    return this.#limit.value
  }

  /** Calls that this replica may have in flight now. */
  get usable(): number {
    const limit = this.#limit.value
    return this.#slots === undefined ? limit : Math.min(limit, this.#slots.usable)
  }

  /** Calls that would start without queueing, on slots of the node that no replica uses, and within its budget. */
  get free(): number {
    return Math.min(
      this.#freeSlots,
      Math.max(0, (this.#budget()?.idle ?? Number.POSITIVE_INFINITY) - this.#queue.sizes.all),
    )
  }

  get #freeSlots(): number {
    return Math.max(
      0,
      Math.min(this.#limit.value, this.#slots?.available ?? this.#limit.value) - this.#calls - this.#queue.sizes.all,
    )
  }

  /** Calls that may be in flight over time, for estimates. */
  get #expectedSlots(): number {
    return Math.min(this.#limit.value, this.#slots?.expected ?? this.#limit.value)
  }

  get #maxBulkCalls(): number {
    const share = bulkShareOf(this.#limit.value)
    return this.#bulkSlots === undefined ? share : Math.min(share, this.#bulkSlots.usable)
  }

  get queue(): number {
    return this.#queue.sizes.all
  }

  get hasQueueSpace(): boolean {
    return this.#queue.sizes.all < this.#options.limits().queue
  }

  /**
   * Resolves when the call has a slot, or with a rejection. A call that would not end before its deadline is rejected
   * immediately, while its client still has time to react.
   */
  acquire(call: LimitedCall, deadline: Deadline): Promise<Acquisition> {
    if (deadline.signal.aborted) return Promise.resolve(this.#rejectAborted(call, deadline))
    if (call.presence?.state === 'left') return Promise.resolve(ABANDONED)
    // If a slot is free while calls are queued, these are bulk calls beyond their share.
    if (this.#calls < this.usable && this.#isAllowed(call.priority)) {
      this.#take(call)
      this.#reportDemand()
      return Promise.resolve({ ok: true })
    }
    const time = deadline.remaining() - this.#reservedTime(call.endpoint, deadline.remaining())
    if (call.presence?.state === 'halfClosed' && !this.hasQueueSpace) return Promise.resolve(ABANDONED)
    if (this.#expectedWait(call) > time) {
      return Promise.resolve(this.#rejectOverloaded(call, 'expected wait exceeds the remaining time'))
    }
    const overBudget = this.#budget()?.rejection(call.priority, this.#queue.countAhead(call) + 1, time)
    if (overBudget !== undefined) return Promise.resolve(overBudget)
    if (!this.hasQueueSpace) {
      const displaced = this.#queue.findDisplaceable(call)
      if (displaced === undefined) return Promise.resolve(this.#rejectOverloaded(call, 'queue full'))
      this.#queue.remove(displaced)
      displaced.settle(this.#rejectOverloaded(displaced, 'displaced from the full queue'))
    }
    return new Promise((resolve) => this.#enqueue(call, deadline, resolve))
  }

  /**
   * Returns the slot of a call that acquired it at `start`, and starts queued calls. `refused`: the node has refused the
   * call, or the connection. `failure`: the call timed out.
   */
  release(call: LimitedCall, start: number, signal: HealthSignal): void {
    const { endpoint } = call
    const now = this.#options.clock()
    const failed = { start, now, inFlight: this.#calls }
    if (signal === 'success' || signal === 'failure') this.#serviceTime.record(now - start)
    if (signal === 'success') {
      this.#limit.recordAnswer(endpoint)
      this.#times.record(endpoint, now - start)
    } else if (signal === 'refused') this.#limit.recordOverload(endpoint, failed, 'refused')
    else {
      if (signal === 'failure') this.#limit.recordOverload(endpoint, failed, 'late')
      this.#times.recordAtLeast(endpoint, now - start)
    }
    this.#calls -= 1
    if (call.priority === 'bulk') this.#bulkCalls -= 1
    const ofCaller = (this.#callsOf.get(call.caller) ?? 0) - 1
    if (ofCaller > 0) this.#callsOf.set(call.caller, ofCaller)
    else this.#callsOf.delete(call.caller)
    // Before a queued call starts: another replica may be due for the slot.
    this.#reportDemand()
    this.#startQueued()
  }

  /** Applies a changed `inFlight`. The other limits are read for each call. */
  applyLimits(): void {
    this.#limit.setMax(this.#options.limits().inFlight)
    this.#startQueued()
  }

  /** Returns the slots to the other replicas. */
  async close(): Promise<void> {
    await Promise.all([this.#slots?.close(), this.#bulkSlots?.close()])
  }

  #take({ priority, caller }: Queueable): void {
    this.#calls += 1
    if (priority === 'bulk') this.#bulkCalls += 1
    this.#callsOf.set(caller, (this.#callsOf.get(caller) ?? 0) + 1)
    this.#budget()?.take(priority)
  }

  #startQueued(): void {
    const hasShare = (caller: string) => (this.#callsOf.get(caller) ?? 0) >= this.#options.limits().perCaller
    while (this.#queue.sizes.all > 0 && this.#calls < this.usable) {
      const next = this.#queue.takeNext(this.#isAllowed, hasShare)
      if (next === undefined) break
      if (next.isInTime()) {
        this.#take(next)
        next.settle({ ok: true })
      } else next.settle(this.#rejectOverloaded(next, 'too little time left after queueing'))
    }
    this.#reportDemand()
  }

  readonly #isAllowed = (priority: Queueable['priority']): boolean =>
    (priority !== 'bulk' || this.#bulkCalls < this.#maxBulkCalls) && (this.#budget()?.allows(priority) ?? true)

  /** Must be called after each change of the queue or of the calls. Queued bulk calls count as far as they may start. */
  #reportDemand(): void {
    const budget = this.#budget()
    if (this.#slots === undefined && budget === undefined) return
    const limit = this.#limit.value
    const queuedBulk = this.#queue.sizes.bulk
    const bulk = Math.min(this.#bulkCalls + queuedBulk, Math.max(this.#bulkCalls, bulkShareOf(limit)))
    this.#bulkSlots?.update(this.#bulkCalls, bulk)
    const startableBulk = Math.min(queuedBulk, Math.max(0, this.#maxBulkCalls - this.#bulkCalls))
    const demand = this.#calls + this.#queue.sizes.all - queuedBulk + startableBulk
    this.#slots?.update(this.#calls, Math.max(this.#calls, Math.min(demand, limit)))
    budget?.want(this.#startable(startableBulk))
  }

  /** Returns how many queued calls would start now on the slots that are free here. */
  #startable(bulk: number): PermitCounts {
    const free = Math.max(0, this.usable - this.#calls)
    const reserved = Math.min(free, this.#queue.sizes.health + this.#queue.sizes.write)
    return { reserved, read: Math.min(free - reserved, this.#queue.sizes.interactive + bulk) }
  }

  /**
   * Starts the queued calls that the budget permits. Rejects those that it does not permit before their deadline, for example
   * after the node refused a call.
   */
  applyBudget(): void {
    this.#startQueued()
    const budget = this.#budget()
    if (budget === undefined || this.#queue.sizes.all === 0) return
    for (const priority of PRIORITIES) {
      const rejection = budget.rejection(priority)
      if (rejection === undefined) continue
      const wait = budget.waitFor(priority, 1)
      for (const call of this.#queue.takeAll(priority, (each) => !each.isInTime(wait))) call.settle(rejection)
    }
    this.#reportDemand()
  }

  rejectQueued(rejection: Rejection): void {
    for (let next = this.#queue.takeAny(); next !== undefined; next = this.#queue.takeAny()) next.settle(rejection)
    this.#reportDemand()
  }

  #enqueue(call: LimitedCall, deadline: Deadline, resolve: (result: Acquisition) => void) {
    const { priority, caller, endpoint } = call
    const leave = (result: Acquisition) => {
      this.#queue.remove(queued)
      queued.settle(result)
      this.#reportDemand()
    }
    const onAbort = () => leave(this.#rejectAborted(queued, deadline))
    const timeout = deadline.remaining()
    const queued: QueuedCall = {
      priority,
      caller,
      isInTime: (wait = 0) => wait + this.#reservedTime(endpoint, timeout) <= deadline.remaining(),
      settle: (result) => {
        deadline.signal.removeEventListener('abort', onAbort)
        endWatch()
        resolve(result)
      },
    }
    this.#queue.add(queued)
    const endWatch = watchAbandonment(call, {
      onAbandon: () => leave(ABANDONED),
      onChange: (isConnected) => {
        this.#queue.remove(queued)
        this.#queue.add(queued, !isConnected)
      },
    })
    this.#reportDemand()
    deadline.signal.addEventListener('abort', onAbort, { once: true })
  }

  /** Returns the milliseconds that a call must have left when it is sent. */
  #reservedTime(endpoint: string, timeout: number): number {
    const usual = this.expectedTime(endpoint)
    return Math.max(usual, Math.min(RESERVED_TIMES * usual, timeout * MAX_RESERVED_SHARE))
  }

  /** Returns the expected milliseconds of a call on the node. */
  expectedTime(endpoint: string): number {
    return this.#times.usual(endpoint) ?? this.#serviceTime.average
  }

  /** Returns the expected milliseconds in the queue of a call that arrives now. */
  #expectedWait(call: Queueable): number {
    // A slot that no replica uses costs this replica one step over Redis.
    if (call.priority !== 'bulk' && this.#freeSlots > 0) return 0
    return this.#serviceTime.waitFor(this.#queue.countAhead(call), this.#expectedSlots)
  }

  #rejectOverloaded(call: Queueable, detail: string): Rejection {
    const retryAfter = this.#serviceTime.retryAfter(this.#queue.countAhead(call), this.#expectedSlots)
    return { ok: false, fault: 'overloaded', detail, retryAfter }
  }

  #rejectAborted(call: Queueable, deadline: Deadline): Rejection {
    if (deadline.fault() === 'timeout') {
      return this.#budget()?.rejection(call.priority) ?? this.#rejectOverloaded(call, 'timed out in the queue')
    }
    return ABANDONED
  }
}

function bulkShareOf(slots: number): number {
  return Math.max(1, Math.min(slots - 1, Math.ceil(slots * BULK_SHARE)))
}
