/**
 * How many calls at once a node is trusted with: between 1 and a ceiling, by additive increase and
 * multiplicative decrease (as TCP does): an answer adds one call per round, strain halves.
 *
 * Strain is a call that timed out or was dropped by the node. Latency as such is not looked at: one endpoint
 * takes 0.2 s and another 16 s on the same idle node (contract/wire.md), so a gradient would cut for the mixture.
 * After a time-out the node still works on the call that was given up; halving makes room for that work.
 */
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

  /** One cut for one round: calls that began before the latest cut tell the same news again. */
  strained(began: number, now: number): void {
    if (began < this.#cutAt) return
    this.#cutAt = now
    this.#value = Math.max(1, this.#value / 2)
  }
}
