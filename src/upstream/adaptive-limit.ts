/**
 * How many calls at once a node is trusted with: between 1 and a ceiling. Each answer adds one call per round. What
 * cuts:
 *
 * - strain, a call that timed out or was dropped by the node, halves (as TCP does). After a time-out the node still
 *   works on the call that was given up; halving makes room for that work.
 * - a slowdown of the whole node cuts by its gradient, at most by half, long before calls time out. A node that
 *   shares one processor among n calls takes n times as long for each and loses nothing by it, so only what is
 *   slower than that counts (`slowdown.ts` says what is compared).
 */
import type { Factors } from './slowdown.ts'

export class AdaptiveLimit {
  readonly #ceiling: number
  #value: number
  #cutAt = Number.NEGATIVE_INFINITY

  constructor(ceiling: number) {
    this.#ceiling = ceiling
    this.#value = ceiling
  }

  get value(): number {
    return Math.floor(this.#value)
  }

  answered(): void {
    this.#value = Math.min(this.#ceiling, this.#value + 1 / this.#value)
  }

  strained(began: number, now: number): void {
    this.#cut(0.5, began, now)
  }

  /** An answer that took longer than usual, as others did. Gives true where that cuts the limit. */
  answeredIn({ own, shared }: Factors, began: number, now: number): boolean {
    const borne = Math.max(2, this.value)
    if (shared > borne) return this.#cut(Math.max(0.5, borne / shared), began, now)
    if (own <= borne) this.answered()
    return false
  }

  /** One cut for one round: calls that began before the latest cut tell the same news again. */
  #cut(by: number, began: number, now: number): boolean {
    if (began < this.#cutAt) return false
    this.#cutAt = now
    this.#value = Math.max(1, this.#value * by)
    return true
  }
}
