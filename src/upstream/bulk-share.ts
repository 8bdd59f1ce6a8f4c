/** What bulk calls may use of one node: how many slots, how long they are queued, and when the next one may come. */
import { PAUSE_MS } from '../core/node-call.ts'
import type { LimiterParts } from './limiter-parts.ts'
import type { Queueable } from './queue.ts'

/**
 * The share of the slots that bulk calls may use while other calls are queued or in flight, and as long as a call usually takes
 * after them, at most `PAUSE_MS`: the next one would wait no longer than that for a slot.
 */
const SLOT_SHARE = 0.5
/** The share of its timeout that a call may be queued, and a time that it always may (`sojourn`). */
export const SOJOURN_SHARE = 0.5
const MIN_SOJOURN_MS = 1000
const MAX_RETRY_AFTER_SECONDS = 240

export class BulkShare {
  readonly #parts: LimiterParts
  /** When the next rejected call may come again. */
  #nextAt = 0
  #taken = 0
  /** When the latest call of another priority ended. */
  #othersEndedAt = Number.NEGATIVE_INFINITY

  constructor(parts: LimiterParts) {
    this.#parts = parts
  }

  get #max(): number {
    const { slots, queue, times, clock } = this.#parts
    const haveCalls = slots.taken > this.#taken || queue.sizes.all > queue.sizes.bulk
    const areActive = haveCalls || clock() - this.#othersEndedAt < Math.min(PAUSE_MS, times.average)
    return areActive ? Math.max(1, Math.floor(slots.expected * SLOT_SHARE)) : Number.POSITIVE_INFINITY
  }

  /** Slots for further calls. */
  get free(): number {
    return Math.max(0, this.#max - this.#taken)
  }

  /** Slots to expect over time. */
  get expected(): number {
    return Math.min(this.#parts.slots.expected, this.#max)
  }

  /** To be called when a bulk call takes a slot. */
  take(): void {
    this.#taken += 1
  }

  /** To be called when a call of any priority returns its slot. */
  release({ priority }: Queueable): void {
    if (priority === 'bulk') this.#taken -= 1
    else this.#othersEndedAt = this.#parts.clock()
  }

  /**
   * Returns the milliseconds that a call may be queued. Later calls of others pass it, so a full queue on all slots is the
   * longest that it waits.
   */
  sojourn(timeout: number): number {
    const { times, limits, slots } = this.#parts
    const fullQueue = times.waitFor(limits().queue, slots.expected)
    const longest = fullQueue === 0 ? Number.POSITIVE_INFINITY : Math.max(MIN_SOJOURN_MS, fullQueue)
    return Math.min(timeout * SOJOURN_SHARE, longest)
  }

  /**
   * Returns the seconds until a rejected call has a slot: after the queued ones, and after those rejected before. Beyond
   * the maximum, places in its second half are given once more: a crowd never comes back at once.
   */
  retryAfter(ahead: number): number {
    const { times, clock } = this.#parts
    const now = clock()
    const slots = this.expected
    const first = now + times.waitFor(ahead, slots)
    const isFull = this.#nextAt > now + 1000 * MAX_RETRY_AFTER_SECONDS
    const at = Math.max(first, isFull ? now + 500 * MAX_RETRY_AFTER_SECONDS : this.#nextAt)
    this.#nextAt = at + times.waitFor(0, slots)
    return Math.max(1, Math.min(MAX_RETRY_AFTER_SECONDS, Math.ceil((at - now) / 1000)))
  }
}
