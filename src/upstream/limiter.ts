/**
 * Limits the concurrent calls to one node. Calls beyond the limit wait in a queue of bounded length. A call starts with a
 * slot of the node, which replicas share, and below the limit of this replica (`call-limit.ts`). A node that answers a limited
 * number of calls per minute has a budget: then a call also needs a permit.
 */

import { type NodeCall, type NodeSlots, PAUSE_MS, type SharedSlots } from '../core/node-call.ts'
import type { FailureReason } from '../core/node-faults.ts'
import type { Deadline } from '../core/timing.ts'
import { ABANDONED, watchAbandonment } from './abandoned-calls.ts'
import type { CallBudget, PermitCounts } from './call-budget.ts'
import { CallLimit } from './call-limit.ts'
import { EndpointTimes, ServiceTime } from './call-times.ts'
import type { HealthSignal } from './failure/health.ts'
import { type Flow, type FlowCall, Flows, isBulkFlow } from './flows.ts'
import type { Rejection } from './node-response.ts'
import type { NodeLimits } from './options.ts'
import { CallQueue, PRIORITIES, type Queueable } from './queue.ts'

export type Acquisition = { readonly ok: true } | Rejection

/** The properties of a call that the limiter uses. */
export type LimitedCall = Pick<NodeCall, 'priority' | 'caller' | 'flow' | 'path' | 'endpoint' | 'presence'>

/** A call that waits for a slot or has one. `priority`: `bulk` for reads of a flow that is bulk. */
interface EnteredCall extends FlowCall, Queueable, Pick<NodeCall, 'endpoint'> {
  flow: Flow
  readonly presence: NodeCall['presence'] | undefined
}

interface QueuedCall extends EnteredCall {
  /** Monotonic milliseconds. */
  readonly queuedAt: number
  /** Milliseconds that were left then. */
  readonly timeout: number
  /** Whether the node can still answer before the deadline if the call is sent in `wait` milliseconds. */
  isInTime(wait?: number): boolean
  settle(result: Acquisition): void
}

interface LimiterOptions {
  readonly limits: () => Pick<NodeLimits, 'inFlight' | 'queue' | 'timeout'>
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Returns `undefined` while the node has no limit of calls per minute. */
  readonly budget: () => CallBudget | undefined
}

/**
 * The share of the slots that bulk calls may use while other calls are queued or in flight, and as long as a call usually takes
 * after them, at most `PAUSE_MS`: the next one would wait no longer than that for a slot.
 */
const BULK_SHARE = 0.5
/** The share of its timeout that a bulk call may be queued, and a time that it always may (`#bulkSojourn`). */
const BULK_SOJOURN_SHARE = 0.5
const MIN_BULK_SOJOURN_MS = 1000
const MAX_BULK_RETRY_AFTER_SECONDS = 120

/**
 * A call is sent if this multiple of its usual time is left, or this share of its timeout if that is less. Most calls that are
 * sent later time out on the node, which works on them all the same. Most calls have ended after this multiple.
 */
const RESERVED_TIMES = 2
const MAX_RESERVED_SHARE = 0.75

export class ConcurrencyLimiter {
  readonly #options: LimiterOptions
  readonly #budget: LimiterOptions['budget']
  readonly #limit: CallLimit
  readonly #slots: NodeSlots | undefined
  readonly #flows = new Flows()
  /** The calls that wait for a slot or have one. */
  readonly #entered = new Map<LimitedCall, EnteredCall>()
  /** When the next rejected bulk call may come again. */
  #nextBulkAt = 0
  #calls = 0
  /** Those of them that have ended at the edge. */
  readonly #late = new Set<LimitedCall>()
  #bulkCalls = 0
  /** When the latest call of another priority ended. */
  #othersEndedAt = Number.NEGATIVE_INFINITY
  readonly #queue = new CallQueue<QueuedCall>()
  readonly #serviceTime = new ServiceTime()
  readonly #times = new EndpointTimes()

  /** `slots`: absent: this process shares the limit of the node with no other. */
  constructor(node: string, slots: SharedSlots | undefined, options: LimiterOptions) {
    const { limits, budget } = options
    const onChange = () => this.#startQueued()
    this.#options = options
    this.#budget = budget
    this.#limit = new CallLimit(limits().inFlight)
    this.#slots = slots?.open(node, () => limits().inFlight, onChange)
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
    return this.#slots === undefined ? this.#mostCalls : Math.min(this.#mostCalls, this.#slots.usable)
  }

  /** A limit that was lowered because calls are late leaves room for their work already. */
  get #mostCalls(): number {
    return Math.min(this.#options.limits().inFlight, this.#limit.value + this.#late.size)
  }

  /** Calls that would start without queueing, on slots of the node that no replica uses, and within its budget. */
  get free(): number {
    return Math.min(
      this.#freeSlots,
      Math.max(0, (this.#budget()?.idle ?? Number.POSITIVE_INFINITY) - this.#queue.sizes.all),
    )
  }

  /** Whether another call would be queued, or take the last free slot of several. */
  get isSaturated(): boolean {
    const free = this.#freeSlots
    return free === 0 || (free === 1 && this.#expectedSlots > 1)
  }

  get #freeSlots(): number {
    return Math.max(
      0,
      Math.min(this.#mostCalls, this.#slots?.available ?? this.#mostCalls) - this.#calls - this.#queue.sizes.all,
    )
  }

  /** Calls that may be in flight over time, for estimates. */
  get #expectedSlots(): number {
    return Math.min(this.#limit.value, this.#slots?.expected ?? this.#limit.value)
  }

  get #maxBulkCalls(): number {
    const haveCalls = this.#calls > this.#bulkCalls || this.#queue.sizes.all > this.#queue.sizes.bulk
    const pause = Math.min(PAUSE_MS, this.#serviceTime.average)
    const areActive = haveCalls || this.#options.clock() - this.#othersEndedAt < pause
    return areActive ? Math.max(1, Math.floor(this.#expectedSlots * BULK_SHARE)) : Number.POSITIVE_INFINITY
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
  async acquire(call: LimitedCall, deadline: Deadline): Promise<Acquisition> {
    const entered = this.#enter(call)
    const result = await this.#acquire(entered, deadline)
    if (result.ok) return result
    if (result.fault === 'overloaded') this.#flows.reject(entered, this.expectedTime(call.endpoint))
    this.#leave(call, entered, 0)
    // Queued calls of the flow may be bulk now, and late.
    if (isBulkFlow(entered.flow)) this.#startQueued()
    return result
  }

  #enter(call: LimitedCall): EnteredCall {
    const { flow, owner, party, charged } = this.#flows.enter(call, this.#options.clock())
    const { endpoint, presence } = call
    const priority = call.priority === 'interactive' && isBulkFlow(flow) ? 'bulk' : call.priority
    const entered = { flow, owner, party, charged, priority, endpoint, presence }
    this.#entered.set(call, entered)
    return entered
  }

  #leave(call: LimitedCall, entered: EnteredCall, nodeTime: number): void {
    this.#entered.delete(call)
    this.#flows.leave(entered, nodeTime, this.#options.clock())
    // The flow may be bulk now.
    if (isBulkFlow(entered.flow)) this.#queue.demote(entered.flow)
  }

  #acquire(call: EnteredCall, deadline: Deadline): Promise<Acquisition> {
    if (deadline.signal.aborted) return Promise.resolve(this.#rejectAborted(call, deadline))
    if (call.presence?.state === 'left') return Promise.resolve(ABANDONED)
    // If a slot is free while calls are queued, these are bulk calls beyond their share.
    if (this.#calls < this.usable && this.#isAllowed(call.priority)) {
      this.#take(call)
      this.#reportDemand()
      return Promise.resolve({ ok: true })
    }
    const timeout = deadline.remaining()
    const time = timeout - this.#reservedTime(call.endpoint, timeout)
    const wait = this.#expectedWait(call)
    if (call.presence?.state === 'halfClosed' && !this.hasQueueSpace) return Promise.resolve(ABANDONED)
    if (wait > time) {
      return Promise.resolve(this.#rejectOverloaded(call, 'waitTooLong'))
    }
    if (call.priority === 'bulk' && wait > this.#bulkSojourn(timeout)) {
      return Promise.resolve(this.#rejectOverloaded(call, 'tooMuchBulk'))
    }
    const overBudget = this.#budget()?.rejection(call.priority, this.#queue.countAhead(call) + 1, time)
    if (overBudget !== undefined) return Promise.resolve(overBudget)
    if (!this.hasQueueSpace) {
      const displaced = this.#queue.findDisplaceable(call)
      if (displaced === undefined) return Promise.resolve(this.#rejectOverloaded(call, 'queueFull'))
      this.#queue.remove(displaced)
      displaced.settle(this.#rejectOverloaded(displaced, 'displaced'))
    }
    return new Promise((resolve) => this.#enqueue(call, deadline, resolve))
  }

  /**
   * Returns the slot of a call that acquired it at `start`, and starts queued calls. `tooMany`: the node has refused the
   * call, or the connection. `failure`: the call timed out.
   */
  release(call: LimitedCall, start: number, end: HealthSignal | 'tooMany'): void {
    const now = this.#options.clock()
    // The times of a late call were recorded when it ended at the edge; a node that hung answers it whenever it goes on.
    if (!this.#late.delete(call)) this.#record(call, start, end)
    else if (end === 'success') this.#limit.recordAnswer(call.endpoint)
    this.#calls -= 1
    const entered = this.#entered.get(call)
    if (entered !== undefined) {
      if (entered.priority === 'bulk') this.#bulkCalls -= 1
      else this.#othersEndedAt = now
      this.#leave(call, entered, now - start)
    }
    // Before a queued call starts: another replica may be due for the slot.
    this.#reportDemand()
    this.#startQueued()
  }

  /** The call has ended at the edge, and keeps its slot: the node may still work on it. */
  keep(call: LimitedCall, start: number, end: HealthSignal): void {
    this.#record(call, start, end)
    this.#late.add(call)
    this.#startQueued()
  }

  #record({ endpoint }: LimitedCall, start: number, signal: HealthSignal | 'tooMany'): void {
    const now = this.#options.clock()
    const failed = { start, now, inFlight: this.#calls }
    if (signal === 'success' || signal === 'failure') this.#serviceTime.record(now - start)
    if (signal === 'success') {
      this.#limit.recordAnswer(endpoint)
      this.#times.record(endpoint, now - start)
    } else if (signal === 'tooMany') this.#limit.recordOverload(endpoint, failed, 'tooMany')
    else {
      if (signal === 'failure') this.#limit.recordOverload(endpoint, failed, 'late')
      this.#times.recordAtLeast(endpoint, now - start)
    }
  }

  /** Applies a changed `inFlight`. The other limits are read for each call. */
  applyLimits(): void {
    this.#limit.setMax(this.#options.limits().inFlight)
    this.#startQueued()
  }

  /** Returns the slots to the other replicas, those of calls in flight when most of them have ended on the node. */
  async close(): Promise<void> {
    const unknown = this.#options.limits().timeout / RESERVED_TIMES
    const times = [...this.#entered.values()].map(({ endpoint }) => this.expectedTime(endpoint) || unknown)
    await this.#slots?.close(RESERVED_TIMES * Math.max(0, ...times))
  }

  #take(call: EnteredCall): void {
    this.#calls += 1
    if (call.priority === 'bulk') this.#bulkCalls += 1
    this.#flows.start(call, this.expectedTime(call.endpoint))
    if (isBulkFlow(call.flow)) this.#queue.demote(call.flow)
    this.#budget()?.take(call.priority)
  }

  #startQueued(): void {
    if (this.#queue.sizes.bulk > 0) this.#rejectLateBulk()
    while (this.#queue.sizes.all > 0 && this.#calls < this.usable) {
      const next = this.#queue.takeNext(this.#isAllowed)
      if (next === undefined) break
      if (next.isInTime()) {
        this.#take(next)
        next.settle({ ok: true })
      } else next.settle(this.#rejectOverloaded(next, 'tooLittleTimeLeft'))
    }
    this.#reportDemand()
  }

  /** A long queue answers no call earlier than a short one. */
  #rejectLateBulk(): void {
    const now = this.#options.clock()
    const isLate = ({ queuedAt, timeout }: QueuedCall) => now - queuedAt >= this.#bulkSojourn(timeout)
    for (const call of this.#queue.takeAll('bulk', isLate)) {
      call.settle(this.#rejectOverloaded(call, 'tooMuchBulk'))
    }
  }

  readonly #isAllowed = (priority: Queueable['priority']): boolean =>
    (priority !== 'bulk' || this.#bulkCalls < this.#maxBulkCalls) && (this.#budget()?.allows(priority) ?? true)

  /** Must be called after each change of the queue or of the calls. Queued bulk calls count as far as they may start. */
  #reportDemand(): void {
    const budget = this.#budget()
    if (this.#slots === undefined && budget === undefined) return
    const limit = this.#mostCalls
    const queuedBulk = this.#queue.sizes.bulk
    const startableBulk = Math.min(queuedBulk, Math.max(0, this.#maxBulkCalls - this.#bulkCalls))
    const demand = this.#calls + this.#queue.sizes.all - queuedBulk + startableBulk
    this.#slots?.update(this.#calls, Math.max(this.#calls, Math.min(demand, limit)))
    budget?.want(this.#startable(startableBulk))
  }

  /** Returns how many queued calls would start now on the slots that are free here. */
  #startable(bulk: number): PermitCounts {
    const free = Math.max(0, this.usable - this.#calls)
    const reserved = Math.min(free, this.#queue.sizes.own + this.#queue.sizes.write)
    const reads = this.#queue.sizes.health + this.#queue.sizes.interactive + bulk
    return { reserved, read: Math.min(free - reserved, reads) }
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
    for (const priority of PRIORITIES)
      for (const call of this.#queue.takeAll(priority, () => true)) call.settle(rejection)
    this.#reportDemand()
  }

  #enqueue(call: EnteredCall, deadline: Deadline, resolve: (result: Acquisition) => void) {
    const leave = (result: Acquisition) => {
      this.#queue.remove(queued)
      queued.settle(result)
      this.#reportDemand()
    }
    const onAbort = () => leave(this.#rejectAborted(queued, deadline))
    const timeout = deadline.remaining()
    const queued: QueuedCall = Object.assign(call, {
      queuedAt: this.#options.clock(),
      timeout,
      isInTime: (wait = 0) => wait + this.#reservedTime(call.endpoint, timeout) <= deadline.remaining(),
      settle: (result: Acquisition) => {
        deadline.signal.removeEventListener('abort', onAbort)
        clearTimeout(lateTimer)
        endWatch()
        endShare?.()
        resolve(result)
      },
    })
    // While the node hangs, nothing else moves the queue.
    const wait = timeout * BULK_SOJOURN_SHARE + 1
    const lateTimer = Number.isFinite(wait) ? setTimeout(() => this.#startQueued(), wait).unref() : undefined
    this.#queue.add(queued)
    const endWatch = watchAbandonment(call, {
      onAbandon: () => leave(ABANDONED),
      onChange: (isConnected) => {
        this.#queue.remove(queued)
        this.#queue.add(queued, !isConnected)
      },
    })
    const endShare = call.presence?.onShare?.(() => {
      this.#queue.remove(queued)
      this.#flows.share(queued, this.#options.clock())
      if (queued.priority === 'bulk') queued.priority = 'interactive'
      this.#queue.add(queued)
    })
    this.#reportDemand()
    deadline.signal.addEventListener('abort', onAbort, { once: true })
  }

  /**
   * Returns the milliseconds that a bulk call may be queued. Later calls of others pass it, so a full queue on all slots is the
   * longest that it waits.
   */
  #bulkSojourn(timeout: number): number {
    const fullQueue = this.#serviceTime.waitFor(this.#options.limits().queue, this.#expectedSlots)
    const longest = fullQueue === 0 ? Number.POSITIVE_INFINITY : Math.max(MIN_BULK_SOJOURN_MS, fullQueue)
    return Math.min(timeout * BULK_SOJOURN_SHARE, longest)
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
    const slots = call.priority === 'bulk' ? Math.min(this.#expectedSlots, this.#maxBulkCalls) : this.#expectedSlots
    return this.#serviceTime.waitFor(this.#queue.countAhead(call), slots)
  }

  #rejectOverloaded(call: Queueable, reason: FailureReason): Rejection {
    const ahead = this.#queue.countAhead(call)
    const retryAfter =
      call.priority === 'bulk' ? this.#bulkRetryAfter(ahead) : this.#serviceTime.retryAfter(ahead, this.#expectedSlots)
    return { ok: false, fault: 'overloaded', reason, retryAfter }
  }

  /** Returns the seconds until a rejected bulk call has a slot: after the queued ones, and after those rejected before. */
  #bulkRetryAfter(ahead: number): number {
    const now = this.#options.clock()
    const slots = Math.min(this.#expectedSlots, this.#maxBulkCalls)
    const at = Math.max(this.#nextBulkAt, now + this.#serviceTime.waitFor(ahead, slots))
    const seconds = Math.ceil((at - now) / 1000)
    if (seconds < MAX_BULK_RETRY_AFTER_SECONDS) this.#nextBulkAt = at + this.#serviceTime.waitFor(0, slots)
    return Math.max(1, Math.min(MAX_BULK_RETRY_AFTER_SECONDS, seconds))
  }

  #rejectAborted(call: Queueable, deadline: Deadline): Rejection {
    if (deadline.fault() === 'timeout') {
      return this.#budget()?.rejection(call.priority) ?? this.#rejectOverloaded(call, 'queueTimedOut')
    }
    return ABANDONED
  }
}
