/**
 * Limits the concurrent calls to one node. Calls beyond the limit wait in a queue of bounded length. A call starts with a
 * slot of the node, which replicas share, and below the adaptive limit, which each replica measures on its own.
 */
import type { NodeFault } from '../core/errors.ts'
import type { NodeCall } from '../core/node-call.ts'
import type { Deadline } from '../core/timing.ts'
import { AdaptiveLimit, LatencyBaseline } from './adaptive-limit.ts'
import type { HealthSignal } from './health.ts'
import type { NodeLimits } from './options.ts'
import { CallQueue, type Queueable, ServiceTime } from './queue.ts'
import { type NodeSlots, ownSlots } from './slots.ts'

export interface Rejection {
  readonly ok: false
  readonly fault: 'overloaded' | 'ejected' | 'cancelled'
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
  /** Whether the node can still answer before the deadline. */
  isInTime(): boolean
  settle(result: Acquisition): void
}

/**
 * The share of the slots that `bulk` calls may use. Of two or more slots they never use the last one, so calls of other
 * priorities always find a slot.
 */
const BULK_SHARE = 0.5

/** The kinds of slots: one for each call, and for a bulk call one of the share of bulk calls in addition. */
type OpenSlots = (kind: 'all' | 'bulk', limit: () => number, onChange: () => void) => NodeSlots

const openOwnSlots: OpenSlots = (kind, limit, onChange) => ownSlots.open(kind, limit, onChange)

export class ConcurrencyLimiter {
  readonly #limit: AdaptiveLimit
  readonly #limits: Pick<NodeLimits, 'inFlight' | 'queue' | 'perCaller'>
  readonly #clock: () => number
  readonly #slots: NodeSlots
  readonly #bulkSlots: NodeSlots
  readonly #queue = new CallQueue<QueuedCall>()
  readonly #serviceTime = new ServiceTime()
  readonly #baseline = new LatencyBaseline()
  /** Slots in use, by caller. */
  readonly #slotsOf = new Map<string, number>()
  #inFlight = 0
  #bulkInFlight = 0

  constructor(
    limits: Pick<NodeLimits, 'inFlight' | 'queue' | 'perCaller'>,
    clock: () => number,
    openSlots: OpenSlots = openOwnSlots,
  ) {
    this.#limit = new AdaptiveLimit(limits.inFlight)
    this.#limits = limits
    this.#clock = clock
    const onChange = () => this.#startQueued()
    this.#slots = openSlots('all', () => limits.inFlight, onChange)
    this.#bulkSlots = openSlots('bulk', () => bulkShareOf(limits.inFlight), onChange)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** The limit of the node for all replicas together, as far as this replica has measured it. */
  get limit(): number {
    return this.#limit.value
  }

  /** Calls that this replica may have in flight now. */
  get usable(): number {
    return Math.min(this.#limit.value, this.#slots.usable)
  }

  /** Calls that would start without queueing, on slots of the node that no replica uses. */
  get free(): number {
    return Math.max(0, Math.min(this.#limit.value, this.#slots.available) - this.#inFlight - this.#queue.size)
  }

  /** The number of queued calls. */
  get queue(): number {
    return this.#queue.size
  }

  get hasQueueSpace(): boolean {
    return this.#queue.size < this.#limits.queue
  }

  /**
   * Resolves when the call has a slot, or with a rejection. A call that would not end before its deadline is rejected
   * immediately, while its client still has time to react.
   */
  acquire(call: LimitedCall, deadline: Deadline): Promise<Acquisition> {
    if (deadline.signal.aborted) return Promise.resolve(this.#rejectAborted(call, deadline))
    // If a slot is free while calls are queued, these are bulk calls beyond their share.
    if (this.#inFlight < this.usable && (call.priority !== 'bulk' || this.#isBulkAllowed)) {
      this.#takeSlot(call)
      this.#reportDemand()
      return Promise.resolve({ ok: true })
    }
    if (this.#expectedWait(call) + this.#expectedTime(call.endpoint) > deadline.remaining()) {
      return Promise.resolve(this.#rejectOverloaded(call, 'expected wait exceeds the remaining time'))
    }
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
    this.#freeSlot(call)
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
    this.#limit.setMax(this.#limits.inFlight)
    this.#startQueued()
  }

  /** Returns the slots to the other replicas. */
  async close(): Promise<void> {
    await Promise.all([this.#slots.close(), this.#bulkSlots.close()])
  }

  #startQueued(): void {
    while (this.#inFlight < this.usable) {
      const next = this.#queue.takeNext(this.#isBulkAllowed, (caller) => this.#hasShare(caller))
      if (next === undefined) break
      if (next.isInTime()) {
        this.#takeSlot(next)
        next.settle({ ok: true })
      } else next.settle(this.#rejectOverloaded(next, 'too little time left after queueing'))
    }
    this.#reportDemand()
  }

  /** Queued bulk calls count only as far as their share lets them start. */
  #reportDemand(): void {
    const limit = this.#limit.value
    const queuedBulk = this.#queue.sizeOf('bulk')
    const bulk = Math.min(this.#bulkInFlight + queuedBulk, Math.max(this.#bulkInFlight, bulkShareOf(limit)))
    this.#bulkSlots.update(this.#bulkInFlight, bulk)
    const startableBulk = Math.min(queuedBulk, Math.max(0, this.#maxBulk - this.#bulkInFlight))
    const demand = this.#inFlight + this.#queue.size - queuedBulk + startableBulk
    this.#slots.update(this.#inFlight, Math.max(this.#inFlight, Math.min(demand, limit)))
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

  get #isBulkAllowed(): boolean {
    return this.#bulkInFlight < this.#maxBulk
  }

  get #maxBulk(): number {
    return Math.min(bulkShareOf(this.#limit.value), this.#bulkSlots.usable)
  }

  #hasShare(caller: string): boolean {
    return (this.#slotsOf.get(caller) ?? 0) >= this.#limits.perCaller
  }

  #takeSlot({ priority, caller }: Queueable): void {
    this.#inFlight += 1
    if (priority === 'bulk') this.#bulkInFlight += 1
    this.#slotsOf.set(caller, (this.#slotsOf.get(caller) ?? 0) + 1)
  }

  #freeSlot({ priority, caller }: Queueable): void {
    this.#inFlight -= 1
    if (priority === 'bulk') this.#bulkInFlight -= 1
    const slots = (this.#slotsOf.get(caller) ?? 0) - 1
    if (slots > 0) this.#slotsOf.set(caller, slots)
    else this.#slotsOf.delete(caller)
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
      isInTime: () => this.#expectedTime(endpoint) <= deadline.remaining(),
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
  #expectedTime(endpoint: string): number {
    return this.#baseline.expected(endpoint) ?? this.#serviceTime.average
  }

  /** Returns the expected milliseconds in the queue of a call that arrives now. */
  #expectedWait(call: Queueable): number {
    // A slot that no replica uses costs this replica one step over Redis.
    if (call.priority !== 'bulk' && this.free > 0) return 0
    return this.#serviceTime.waitFor(this.#queue.countAhead(call), this.#expectedSlots)
  }

  get #expectedSlots(): number {
    return Math.min(this.#limit.value, this.#slots.expected)
  }

  #rejectOverloaded(call: Queueable, detail: string): Rejection {
    const retryAfter = this.#serviceTime.retryAfter(this.#queue.countAhead(call), this.#expectedSlots)
    return { ok: false, fault: 'overloaded', detail, retryAfter }
  }

  #rejectAborted(call: Queueable, deadline: Deadline): Rejection {
    if (deadline.fault() === 'timeout') return this.#rejectOverloaded(call, 'timed out in the queue')
    return { ok: false, fault: 'cancelled', detail: 'client disconnected', retryAfter: 1 }
  }
}

/** Returns how many of these slots bulk calls may use. */
function bulkShareOf(slots: number): number {
  return Math.max(1, Math.min(slots - 1, Math.ceil(slots * BULK_SHARE)))
}
