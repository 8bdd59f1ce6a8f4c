/** The calls of this process in flight on one node, and the slots on which further calls may start. */

import type { NodeSlots } from '../core/slots.ts'
import type { NodeLimits } from './options.ts'
import type { PermitCounts } from './permits.ts'
import type { CallQueue, Queueable } from './queue.ts'

/**
 * The share of the slots that `bulk` calls may use. Of two or more slots they never use the last one, so calls of other
 * priorities always find a slot.
 */
const BULK_SHARE = 0.5

/** Opens one of two kinds of slots. Each call takes one of `all`; a bulk call takes one of `bulk` in addition. */
export type OpenSlots = (kind: 'all' | 'bulk', limit: () => number, onChange: () => void) => NodeSlots

interface SlotsInUseOptions {
  readonly limits: () => Pick<NodeLimits, 'inFlight' | 'perCaller'>
  /** The adaptive limit, which this process measures. */
  readonly limit: { readonly value: number }
  readonly openSlots: OpenSlots
  /** Further calls may start. */
  readonly onChange: () => void
}

export class SlotsInUse {
  readonly #limits: SlotsInUseOptions['limits']
  readonly #limit: SlotsInUseOptions['limit']
  readonly #slots: NodeSlots
  readonly #bulkSlots: NodeSlots
  /** By caller. */
  readonly #callsOf = new Map<string, number>()
  #calls = 0
  #bulkCalls = 0

  constructor({ limits, limit, openSlots, onChange }: SlotsInUseOptions) {
    this.#limits = limits
    this.#limit = limit
    this.#slots = openSlots('all', () => limits().inFlight, onChange)
    this.#bulkSlots = openSlots('bulk', () => bulkShareOf(limits().inFlight), onChange)
  }

  /** Calls in flight. */
  get calls(): number {
    return this.#calls
  }

  /** Calls that may be in flight now. */
  get usable(): number {
    return Math.min(this.#limit.value, this.#slots.usable)
  }

  /** Calls that may be in flight if this process uses all slots that other replicas leave free. */
  get available(): number {
    return Math.min(this.#limit.value, this.#slots.available)
  }

  /** Calls that may be in flight over time, for estimates. */
  get expected(): number {
    return Math.min(this.#limit.value, this.#slots.expected)
  }

  get isBulkAllowed(): boolean {
    return this.#bulkCalls < this.#maxBulkCalls
  }

  canStart({ priority }: Pick<Queueable, 'priority'>): boolean {
    return this.#calls < this.usable && (priority !== 'bulk' || this.isBulkAllowed)
  }

  hasShare(caller: string): boolean {
    return (this.#callsOf.get(caller) ?? 0) >= this.#limits().perCaller
  }

  take({ priority, caller }: Queueable): void {
    this.#calls += 1
    if (priority === 'bulk') this.#bulkCalls += 1
    this.#callsOf.set(caller, (this.#callsOf.get(caller) ?? 0) + 1)
  }

  free({ priority, caller }: Queueable): void {
    this.#calls -= 1
    if (priority === 'bulk') this.#bulkCalls -= 1
    const calls = (this.#callsOf.get(caller) ?? 0) - 1
    if (calls > 0) this.#callsOf.set(caller, calls)
    else this.#callsOf.delete(caller)
  }

  /** Must be called after each change of the queue or of the calls. Queued bulk calls count as far as they may start. */
  reportDemand(queue: Pick<CallQueue<Queueable>, 'size' | 'sizeOf'>): void {
    const limit = this.#limit.value
    const queuedBulk = queue.sizeOf('bulk')
    const bulk = Math.min(this.#bulkCalls + queuedBulk, Math.max(this.#bulkCalls, bulkShareOf(limit)))
    this.#bulkSlots.update(this.#bulkCalls, bulk)
    const startableBulk = Math.min(queuedBulk, Math.max(0, this.#maxBulkCalls - this.#bulkCalls))
    const demand = this.#calls + queue.size - queuedBulk + startableBulk
    this.#slots.update(this.#calls, Math.max(this.#calls, Math.min(demand, limit)))
  }

  /** Returns how many queued calls would start now on the slots that are free here. */
  startable(queue: Pick<CallQueue<Queueable>, 'sizeOf'>): PermitCounts {
    const free = Math.max(0, this.usable - this.#calls)
    const bulk = Math.max(0, Math.min(queue.sizeOf('bulk'), this.#maxBulkCalls - this.#bulkCalls))
    const reserved = Math.min(free, queue.sizeOf('health') + queue.sizeOf('write'))
    return { reserved, read: Math.min(free - reserved, queue.sizeOf('interactive') + bulk) }
  }

  /** Returns the slots to the other replicas. */
  async close(): Promise<void> {
    await Promise.all([this.#slots.close(), this.#bulkSlots.close()])
  }

  get #maxBulkCalls(): number {
    return Math.min(bulkShareOf(this.#limit.value), this.#bulkSlots.usable)
  }
}

function bulkShareOf(slots: number): number {
  return Math.max(1, Math.min(slots - 1, Math.ceil(slots * BULK_SHARE)))
}
