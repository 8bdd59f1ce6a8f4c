/** Counts failures that fade, and blocks what has too many. */
import type { CounterStep, CounterTexts } from '../core/counters.ts'

export interface BucketLimits {
  /** Times `failedLogins`: the level at which a key is blocked. */
  readonly factor: number
  /** Milliseconds in which the level falls by one. */
  readonly fadeMs: number
  readonly maxBlockMs: number
}

const FIRST_BLOCK_MS = 1000

/**
 * A leaky bucket with exponential back-off: a failure raises its level by one, time lowers it. Stored as the text "level at
 * until", as version 0.1.0 does. Other text is an empty bucket.
 */
export class FailureBucket {
  readonly #texts: CounterTexts
  readonly #step: CounterStep
  readonly #limits: BucketLimits & { readonly key: string; readonly limit: number }
  #level: number
  blockedUntil: number

  constructor(
    texts: CounterTexts,
    step: CounterStep,
    limits: BucketLimits & { readonly key: string; readonly limit: number },
  ) {
    this.#texts = texts
    this.#step = step
    this.#limits = limits
    const [, level, at, until] = /^([\d.]+) (\d+) (\d+)$/.exec(texts.get(limits.key)) ?? []
    const faded = Math.max(0, step.now - Number(at)) / limits.fadeMs
    this.#level = Math.max(0, Number(level) - faded) || 0
    this.blockedUntil = Number(until) || 0
  }

  get blockedForMs(): number {
    return Math.max(0, this.blockedUntil - this.#step.now)
  }

  get isBlocked(): boolean {
    return this.blockedForMs > 0
  }

  /** Whether no failure is left that has not faded. */
  get isEmpty(): boolean {
    return this.#level === 0
  }

  /** Counts one failure. Returns by how many failures the limit is exceeded; 0 if it is not. */
  add(): number {
    const { now, weight } = this.#step
    this.#level += weight
    const excess = this.#excess
    if (excess >= 0) {
      this.blockedUntil = now + Math.min(this.#limits.maxBlockMs, FIRST_BLOCK_MS * 2 ** Math.min(excess, 40))
    }
    this.#store()
    return Math.max(0, excess)
  }

  /** Takes one failure back. The block ends as soon as the level is below the limit. */
  subtract(): void {
    this.#level = Math.max(0, this.#level - this.#step.weight)
    if (this.#excess < 0) this.blockedUntil = 0
    this.#store()
  }

  clear(): void {
    this.#level = 0
    this.blockedUntil = 0
    this.#store()
  }

  /** Rounded, so that the fading between two attempts of one burst does not allow one attempt more. */
  get #excess(): number {
    return Math.floor((Math.round(this.#level) - this.#limits.limit) / this.#step.weight)
  }

  #store(): void {
    const { now } = this.#step
    const lifetime = Math.max(this.#level * this.#limits.fadeMs, this.blockedForMs)
    const text = `${this.#level.toFixed(6)} ${now} ${this.blockedUntil.toFixed(0)}`
    this.#texts.set(this.#limits.key, lifetime < 1 ? '' : text, lifetime)
  }
}
