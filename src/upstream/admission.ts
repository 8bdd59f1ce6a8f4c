/** Whether a call to a node starts, waits in the queue, or is rejected. */
import type { FailureReason } from '../core/node-faults.ts'
import type { Deadline } from '../core/timing.ts'
import { ABANDONED, watchAbandonment } from './abandoned-calls.ts'
import { BulkShare, SOJOURN_SHARE } from './bulk-share.ts'
import type { EnteredCall } from './flows.ts'
import type { Acquisition, LimiterParts, QueuedCall } from './limiter-parts.ts'
import type { Rejection } from './node-response.ts'
import type { Queueable } from './queue.ts'
import type { PermitCounts } from './shared-permits.ts'

export class Admission {
  readonly #parts: LimiterParts
  readonly bulk: BulkShare

  constructor(parts: LimiterParts) {
    this.#parts = parts
    this.bulk = new BulkShare(parts)
  }

  /** Calls that would start without queueing, on slots of the node that no replica uses, and within its budget. */
  get free(): number {
    const { budget, queue } = this.#parts
    const permits = (budget()?.shared.idle ?? Number.POSITIVE_INFINITY) - queue.sizes.all
    return Math.min(this.#freeSlots, Math.max(0, permits))
  }

  /** Whether another call would be queued, or take the last free slot of several. */
  get isSaturated(): boolean {
    const free = this.#freeSlots
    return free === 0 || (free === 1 && this.#parts.slots.expected > 1)
  }

  get #freeSlots(): number {
    const { slots, queue } = this.#parts
    return Math.max(0, slots.free - queue.sizes.all)
  }

  get hasQueueSpace(): boolean {
    const { queue, limits } = this.#parts
    return queue.sizes.all < limits().queue
  }

  /** Returns what happens to a new call. One that would not end before its deadline is rejected while its client can react. */
  decide(call: EnteredCall, deadline: Deadline): 'start' | 'queue' | Rejection {
    const { slots, times, queue, budget } = this.#parts
    if (deadline.signal.aborted) return this.#rejectAborted(call, deadline)
    if (call.presence?.state === 'left') return ABANDONED
    // If a slot is free while calls are queued, these are bulk calls beyond their share.
    if (slots.taken < slots.usable && this.isAllowed(call.priority)) return 'start'
    const timeout = deadline.remaining()
    const time = timeout - times.reserved(call.endpoint, timeout)
    const wait = this.#expectedWait(call)
    if (call.presence?.state === 'halfClosed' && !this.hasQueueSpace) return ABANDONED
    if (wait > time) return this.rejectOverloaded(call, 'waitTooLong')
    if (call.priority === 'bulk' && wait > this.bulk.sojourn(timeout)) return this.rejectOverloaded(call, 'tooMuchBulk')
    const overBudget = budget()?.rejection(call.priority, queue.countAhead(call) + 1, time)
    if (overBudget !== undefined || this.hasQueueSpace) return overBudget ?? 'queue'
    const displaced = queue.findDisplaceable(call)
    if (displaced === undefined) return this.rejectOverloaded(call, 'queueFull')
    queue.remove(displaced)
    displaced.settle(this.rejectOverloaded(displaced, 'displaced'))
    return 'queue'
  }

  /** Adds a call to the queue. Resolves when the call is settled. `startQueued`: called when it may start, or is queued too long. */
  enqueue(call: EnteredCall, deadline: Deadline, startQueued: () => void): Promise<Acquisition> {
    const { queue, flows, times, clock } = this.#parts
    const timeout = deadline.remaining()
    return new Promise((resolve) => {
      const leave = (result: Acquisition) => {
        queue.remove(queued)
        queued.settle(result)
        this.reportDemand()
      }
      const onAbort = () => leave(this.#rejectAborted(queued, deadline))
      const queued: QueuedCall = Object.assign(call, {
        queuedAt: clock(),
        timeout,
        isInTime: (wait = 0) => wait + times.reserved(call.endpoint, timeout) <= deadline.remaining(),
        settle: (result: Acquisition) => {
          deadline.signal.removeEventListener('abort', onAbort)
          clearTimeout(lateTimer)
          endWatch()
          endListener?.()
          resolve(result)
        },
      })
      // While the node hangs, nothing else moves the queue.
      const wait = timeout * SOJOURN_SHARE + 1
      const lateTimer = Number.isFinite(wait) ? setTimeout(startQueued, wait).unref() : undefined
      queue.add(queued)
      const endWatch = watchAbandonment(call, {
        onAbandon: () => leave(ABANDONED),
        onChange: (isConnected) => {
          queue.remove(queued)
          queue.add(queued, !isConnected)
        },
      })
      const endListener = call.presence?.onUrgent?.(() => {
        queue.remove(queued)
        flows.makeUrgent(queued, clock())
        if (queued.priority === 'bulk') queued.priority = 'interactive'
        queue.add(queued, call.presence?.state === 'halfClosed')
        // A slot may be free that bulk calls may not use.
        startQueued()
      })
      deadline.signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  readonly isAllowed = (priority: Queueable['priority']): boolean =>
    (priority !== 'bulk' || this.bulk.free > 0) && (this.#parts.budget()?.allows(priority) ?? true)

  /** Must be called after each change of the queue or of the calls. Queued bulk calls count as far as they may start. */
  reportDemand(): void {
    const { slots, queue, budget } = this.#parts
    const { all, bulk } = queue.sizes
    const startableBulk = bulk === 0 ? 0 : Math.min(bulk, this.bulk.free)
    slots.shared?.update(slots.taken, slots.demandWith(all - bulk + startableBulk))
    budget()?.want(this.#startable(startableBulk))
  }

  /** Returns how many queued calls would start now on the slots that are free here. */
  #startable(bulk: number): PermitCounts {
    const { slots, queue } = this.#parts
    const { own, write, health, interactive } = queue.sizes
    const free = Math.max(0, slots.usable - slots.taken)
    const reserved = Math.min(free, own + write)
    return { reserved, read: Math.min(free - reserved, health + interactive + bulk) }
  }

  /** Returns the expected milliseconds in the queue of a call that arrives now. */
  #expectedWait(call: Queueable): number {
    // A slot that no replica uses costs this replica one step over Redis.
    if (call.priority !== 'bulk' && this.#freeSlots > 0) return 0
    const { slots, times, queue } = this.#parts
    return times.waitFor(queue.countAhead(call), call.priority === 'bulk' ? this.bulk.expected : slots.expected)
  }

  rejectOverloaded(call: Queueable, reason: FailureReason): Rejection {
    const { slots, times, queue } = this.#parts
    const ahead = queue.countAhead(call)
    const retryAfter = call.priority === 'bulk' ? this.bulk.retryAfter(ahead) : times.retryAfter(ahead, slots.expected)
    return { ok: false, fault: 'overloaded', reason, retryAfter }
  }

  #rejectAborted(call: Queueable, deadline: Deadline): Rejection {
    if (deadline.fault() !== 'timeout') return ABANDONED
    return this.#parts.budget()?.rejection(call.priority) ?? this.rejectOverloaded(call, 'queueTimedOut')
  }
}
