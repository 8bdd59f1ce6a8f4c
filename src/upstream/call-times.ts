/** How long calls take on one node, and the waiting times that follow. */
import type { HealthSignal } from './failure/evidence.ts'

/** Weight of the latest call in the usual time. */
const LATENCY_WEIGHT = 1 / 16
/** A single call counts at most as this multiple of the usual time. */
const MAX_LATENCY_FACTOR = 2
/** Weights of the latest call in the average. Recovery is adopted faster than a slowdown. */
const SLOWER_WEIGHT = 0.2
const FASTER_WEIGHT = 0.5
/** The estimate is rough, so clients are never asked to wait longer than this. */
const MAX_RETRY_AFTER_SECONDS = 30
/**
 * A call is sent if this multiple of its usual time is left, or this share of its timeout if that is less. Most calls that are
 * sent later time out on the node, which works on them all the same. Most calls have ended after this multiple.
 */
export const RESERVED_TIMES = 2
const MAX_RESERVED_SHARE = 0.75

export class CallTimes {
  /**
   * The usual time of each endpoint template, so bounded by the catalogue. On the same idle node one endpoint takes 0.2 s and
   * another 16 s.
   */
  readonly #usual = new Map<string, number>()
  #average = 0

  /** The moving average of all calls in milliseconds; 0 before the first call. */
  get average(): number {
    return this.#average
  }

  /** Returns the expected milliseconds of a call on the node. */
  expected(endpoint: string): number {
    return this.#usual.get(endpoint) ?? this.#average
  }

  /** Returns the milliseconds that a call must have left when it is sent. */
  reserved(endpoint: string, timeout: number): number {
    const usual = this.expected(endpoint)
    return Math.max(usual, Math.min(RESERVED_TIMES * usual, timeout * MAX_RESERVED_SHARE))
  }

  /** Records that a call was on the node for `elapsed` milliseconds. */
  record(endpoint: string, elapsed: number, signal: HealthSignal): void {
    const average = this.#average
    const weight = elapsed > average ? SLOWER_WEIGHT : FASTER_WEIGHT
    if (signal === 'success' || signal === 'failure')
      this.#average = average === 0 ? elapsed : average + (elapsed - average) * weight
    const usual = this.#usual.get(endpoint) ?? elapsed
    // A call without an answer would have taken at least this long.
    if (signal !== 'success' && elapsed <= usual) return
    const bounded = Math.min(elapsed, usual * MAX_LATENCY_FACTOR)
    this.#usual.set(endpoint, Math.max(1, usual + (bounded - usual) * LATENCY_WEIGHT))
  }

  /** Returns the milliseconds until a call with `ahead` calls before it can start. */
  waitFor(ahead: number, slots: number): number {
    return ((ahead + 1) * this.#average) / slots
  }

  /** Returns the value of Retry-After, in whole seconds. */
  retryAfter(ahead: number, slots: number): number {
    return Math.min(MAX_RETRY_AFTER_SECONDS, Math.max(1, Math.ceil(this.waitFor(ahead, slots) / 1000)))
  }
}
