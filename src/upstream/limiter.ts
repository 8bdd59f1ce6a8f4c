/**
 * Limits the concurrent calls to one node. Calls beyond the limit wait in a queue of bounded length. A call starts with a
 * slot of the node, which replicas share, and below the limit of this replica (`slots.ts`). A node that answers a limited
 * number of calls per minute has a budget: then a call also needs a permit.
 */
import { removeFrom } from '../core/in-flight-list.ts'
import type { SharedSlots } from '../core/node-call.ts'
import type { Deadline } from '../core/timing.ts'
import { Admission } from './admission.ts'
import { CallTimes, RESERVED_TIMES } from './call-times.ts'
import type { HealthSignal } from './failure/evidence.ts'
import { type EnteredCall, Flows, isBulkFlow, type LimitedCall } from './flows.ts'
import type { Acquisition, LimiterOptions, LimiterParts, QueuedCall } from './limiter-parts.ts'
import type { Rejection } from './node-response.ts'
import { CallQueue, PRIORITIES } from './queue.ts'
import { Slots } from './slots.ts'

const ADMITTED = { ok: true } as const

export class ConcurrencyLimiter {
  readonly slots: Slots
  readonly times = new CallTimes()
  readonly admission: Admission
  readonly #parts: LimiterParts
  /** The calls that have a slot: few, however many wait. */
  readonly #inSlots: EnteredCall[] = []

  /** `shared`: absent: this process shares the limit of the node with no other. */
  constructor(node: string, shared: SharedSlots | undefined, options: LimiterOptions) {
    const { limits } = options
    const slots = shared?.open(
      node,
      () => limits().inFlight,
      () => this.#startQueued(),
    )
    this.slots = new Slots(limits, slots)
    const state = { slots: this.slots, queue: new CallQueue<QueuedCall>(), flows: new Flows(), times: this.times }
    this.#parts = { ...options, ...state }
    this.admission = new Admission(this.#parts)
  }

  get queue(): number {
    return this.#parts.queue.sizes.all
  }

  /** Returns a slot for the call, or a rejection; a promise while the call is queued. */
  acquire(call: LimitedCall, deadline: Deadline): Acquisition | Promise<Acquisition> {
    const { flows, clock } = this.#parts
    const entered = flows.enter(call, clock())
    const decision = this.admission.decide(entered, deadline)
    if (decision === 'start') {
      this.#take(entered)
      this.admission.reportDemand()
      return ADMITTED
    }
    if (decision !== 'queue') return this.#reject(entered, decision)
    const queued = this.admission.enqueue(entered, deadline, () => this.#startQueued())
    this.admission.reportDemand()
    return queued.then((result) => (result.ok ? result : this.#reject(entered, result)))
  }

  #reject(entered: EnteredCall, rejection: Rejection): Rejection {
    if (rejection.fault === 'overloaded') {
      this.#parts.flows.reject(entered, this.times.expected(entered.endpoint))
      entered.call.flow?.refuse?.(rejection.retryAfter)
    }
    this.#leave(entered, 0)
    // Queued calls of the flow may be bulk now, and late.
    if (isBulkFlow(entered.flow)) this.#startQueued()
    return rejection
  }

  #leave(entered: EnteredCall, nodeTime: number): void {
    const { flows, queue, clock } = this.#parts
    flows.leave(entered, nodeTime, clock())
    // The flow may be bulk now.
    if (isBulkFlow(entered.flow)) queue.demote(entered.flow)
  }

  /**
   * Returns the slot of a call that acquired it at `start`, and starts queued calls. `tooMany`: the node has refused the
   * call, or the connection. `failure`: the call timed out.
   */
  release(call: LimitedCall, start: number, end: HealthSignal | 'tooMany'): void {
    const { slots } = this
    // The times of a late call were recorded when it ended at the edge; a node that hung answers it whenever it goes on.
    if (!slots.late.has(call)) this.#record(call, start, end)
    else if (end === 'success') slots.limit.recordAnswer(call.endpoint)
    slots.late.delete(call)
    slots.taken -= 1
    const entered = this.#inSlots.find((each) => each.call === call)
    if (entered !== undefined) {
      removeFrom(this.#inSlots, entered)
      this.admission.bulk.release(entered)
      this.#leave(entered, this.#parts.clock() - start)
    }
    // Before a queued call starts: another replica may be due for the slot.
    this.admission.reportDemand()
    if (this.#parts.queue.sizes.all > 0) this.#startQueued()
  }

  /** The call has ended at the edge, and keeps its slot: the node may still work on it. */
  keep(call: LimitedCall, start: number, end: HealthSignal): void {
    this.#record(call, start, end)
    this.slots.late.add(call)
    this.#startQueued()
  }

  #record({ endpoint }: LimitedCall, start: number, signal: HealthSignal | 'tooMany'): void {
    const { slots, times, clock } = this.#parts
    const now = clock()
    const call = { start, now, inFlight: slots.taken }
    if (signal === 'success') slots.limit.recordAnswer(endpoint)
    else if (signal === 'failure') slots.limit.recordOverload(endpoint, call, 'late')
    if (signal === 'tooMany') slots.limit.recordOverload(endpoint, call, signal)
    else times.record(endpoint, now - start, signal)
  }

  /** Applies a changed `inFlight`. The other limits are read for each call. */
  applyLimits(): void {
    const { slots, limits } = this.#parts
    slots.limit.setMax(limits().inFlight)
    this.#startQueued()
  }

  /** Returns the slots to the other replicas, those of calls in flight when most of them have ended on the node. */
  async close(): Promise<void> {
    const { slots, limits } = this.#parts
    const unknown = limits().timeout / RESERVED_TIMES
    const times = this.#inSlots.map(({ endpoint }) => this.times.expected(endpoint) || unknown)
    await slots.shared?.close(RESERVED_TIMES * Math.max(0, ...times))
  }

  #take(call: EnteredCall): void {
    const { slots, flows, queue, budget } = this.#parts
    slots.taken += 1
    this.#inSlots.push(call)
    if (call.priority === 'bulk') this.admission.bulk.take()
    flows.start(call, this.times.expected(call.endpoint))
    if (isBulkFlow(call.flow)) queue.demote(call.flow)
    budget()?.take(call.priority)
  }

  #startQueued(): void {
    const { slots, queue } = this.#parts
    if (queue.sizes.bulk > 0) this.#rejectLateBulk()
    while (queue.sizes.all > 0 && slots.taken < slots.usable) {
      const next = queue.takeNext(this.admission.isAllowed)
      if (next === undefined) break
      if (next.isInTime()) {
        this.#take(next)
        next.settle(ADMITTED)
      } else next.settle(this.admission.rejectOverloaded(next, 'tooLittleTimeLeft'))
    }
    this.admission.reportDemand()
  }

  /** A long queue answers no call earlier than a short one. */
  #rejectLateBulk(): void {
    const { queue, clock } = this.#parts
    const { bulk } = this.admission
    const now = clock()
    for (const call of queue.takeAll('bulk', ({ queuedAt, timeout }) => now - queuedAt >= bulk.sojourn(timeout)))
      call.settle(this.admission.rejectOverloaded(call, 'tooMuchBulk'))
  }

  /**
   * Starts the queued calls that the budget permits. Rejects those that it does not permit before their deadline, for example
   * after the node refused a call.
   */
  applyBudget(): void {
    const { queue, budget } = this.#parts
    this.#startQueued()
    for (const priority of PRIORITIES) {
      const rejection = queue.sizes.all > 0 ? budget()?.rejection(priority) : undefined
      if (rejection === undefined) continue
      const wait = budget()?.waitFor(priority, 1)
      for (const call of queue.takeAll(priority, (each) => !each.isInTime(wait))) call.settle(rejection)
    }
    this.admission.reportDemand()
  }

  rejectQueued(rejection: Rejection): void {
    const { queue } = this.#parts
    for (const priority of PRIORITIES) for (const call of queue.takeAll(priority, () => true)) call.settle(rejection)
    this.admission.reportDemand()
  }
}
